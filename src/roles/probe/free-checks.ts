import { decodeQuote } from '../../client/quote.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { CheckName, CheckResult } from './check-window.ts'

/** What one response shows. */
type Judgement = { readonly ageSeconds: number | null; readonly fault: string | null }

export type Times = { nowMs(): number; monotonicMs(): number }

const TIMEOUT_MS = 10_000

/** Fetches a path without a payment and judges the response. */
export async function freeCheck(
  check: CheckName,
  url: string,
  judge: (response: Response) => Promise<Judgement>,
  { nowMs, monotonicMs }: Times,
): Promise<CheckResult> {
  const atMs = nowMs()
  const beganMs = monotonicMs()
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const { ageSeconds, fault } = await judge(response)
    const latencyMs = monotonicMs() - beganMs
    return { ...{ check, atMs, latencyMs, ageSeconds, reason: fault }, outcome: outcomeOf(fault) }
  } catch (cause) {
    return {
      ...{ check, atMs, latencyMs: null, ageSeconds: null, reason: reasonOf(cause) },
      outcome: 'failed',
    }
  }
}

/** `/health`: an engine, no maintenance, every precondition of a sale. A feed that is down is no failure. */
export async function judgeHealth(response: Response): Promise<Judgement> {
  if (response.status !== 200) return failed(await refusalOf(response))
  const {
    engine,
    kill_switch,
    checks = {},
  } = (await response.json()) as {
    readonly engine?: unknown
    readonly kill_switch?: unknown
    readonly checks?: Readonly<Record<string, boolean>>
  }
  const failing = Object.entries(checks).filter(([, isOk]) => !isOk)
  if (engine !== 'available') return failed('the engine is not available')
  if (kill_switch !== 'enabled') return failed('the service is in maintenance')
  if (failing.length > 0) return failed(`failing: ${failing.map(([check]) => check).join(', ')}`)
  return { ageSeconds: null, fault: null }
}

/** A paid path without a payment: 402 with readable terms. */
export async function judgeQuote(response: Response): Promise<Judgement> {
  if (response.status !== 402 && !response.ok) return failed(await refusalOf(response))
  await response.body?.cancel()
  if (response.ok)
    return failed(
      'answered without a quote: nothing is sold there (--quote off for a free service)',
    )
  const quote = decodeQuote(response.headers.get('payment-required'))
  const preview = quote.extensions?.['answer-preview'] as
    | { readonly info?: { readonly data_age_seconds?: unknown } }
    | undefined
  const age = preview?.info?.data_age_seconds
  return { ageSeconds: typeof age === 'number' ? age : null, fault: null }
}

/** `meta.data_age_seconds` of an answer; null if it states none. */
export function ageOf(answer: unknown): number | null {
  const { meta } = answer as { readonly meta?: { readonly data_age_seconds?: unknown } }
  return typeof meta?.data_age_seconds === 'number' ? meta.data_age_seconds : null
}

function outcomeOf(fault: string | null): 'ok' | 'failed' {
  return fault === null ? 'ok' : 'failed'
}

function failed(fault: string): Judgement {
  return { ageSeconds: null, fault }
}

async function refusalOf(response: Response): Promise<string> {
  const text = await response.text()
  try {
    const { code } = JSON.parse(text) as { readonly code?: unknown }
    if (typeof code === 'string') return `${response.status} ${code}`
  } catch {
    // A proxy answers with a page.
  }
  return `status ${response.status}`
}
