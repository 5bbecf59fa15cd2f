import { contracts } from '../../compute/analyses/registry.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { pathOf } from '../../domain/contract.ts'
import { reasonOf } from '../../domain/errors.ts'
import { systemClock } from '../system-clock.ts'
import type { DemoProgress } from './progress.ts'

const POLL_MS = 200
const READY_MS_MAX = 300_000

export class NotReadyError extends Error {
  override readonly name = 'NotReadyError'
}

/** An analysis that is not sold yet. `reason`: what the service says about it. */
type Unsold = { readonly contract: AnalysisContract; readonly reason: string }

/**
 * Waits until analyses of a coin are sold; all by default.
 * @throws NotReadyError if that takes too long
 */
export async function whenReady(
  url: string,
  coin: string,
  progress: DemoProgress,
  asked: readonly AnalysisContract[] = contracts,
): Promise<void> {
  const deadlineMs = systemClock.nowMs() + READY_MS_MAX
  let missing: readonly Unsold[] = asked.map((contract) => ({
    contract,
    reason: `${coin} is not listed`,
  }))
  while (systemClock.nowMs() < deadlineMs) {
    const coins = await readyCoins(url)
    // Each refusal of an unknown coin would count in the quote limit.
    if (coins.includes(coin)) {
      missing = await unsold(url, coin, missing)
      if (missing.length === 0) return
    }
    progress.detail(`warming up: ${coins.length} coins, waiting for ${idsOf(missing)}`)
    await pause(POLL_MS)
  }
  const reasons = new Set(missing.map(({ reason }) => reason))
  throw new NotReadyError(
    `no answer of ${idsOf(missing)} within ${READY_MS_MAX / 1000} s: ${[...reasons].join('; ')}`,
  )
}

function idsOf(missing: readonly Unsold[]): string {
  return missing.map(({ contract }) => contract.id).join(', ')
}

/** Analyses without an answer yet. Only with an answer is an invalid payment refused as malformed. */
async function unsold(
  url: string,
  coin: string,
  asked: readonly Unsold[],
): Promise<readonly Unsold[]> {
  const missing: Unsold[] = []
  for (const { contract } of asked) {
    try {
      const response = await fetch(url + pathOf(contract, coin), { headers: { 'x-payment': '%' } })
      const { code, detail } = (await response.json()) as { code?: string; detail?: string }
      if (code !== 'malformed_payment')
        missing.push({ contract, reason: detail ?? `HTTP ${response.status}` })
    } catch (cause) {
      missing.push({ contract, reason: reasonOf(cause) })
    }
  }
  return missing
}

async function readyCoins(url: string): Promise<readonly string[]> {
  try {
    const response = await fetch(`${url}/coins`)
    const { coins } = (await response.json()) as { coins?: unknown }
    // Another program can listen there, and answer with other JSON.
    return Array.isArray(coins) ? coins : []
  } catch {
    // Not listening yet.
    return []
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
