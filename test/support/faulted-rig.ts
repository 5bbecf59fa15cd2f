import assert from 'node:assert/strict'
import { expect } from 'vitest'
import type { OracleNetwork, SourceId } from '../../src/domain/external.ts'
import { chains, exchanges } from '../../src/domain/external.ts'
import type { CallerResult, RigCoin, RigOptions } from './external-rig.ts'
import { ExternalRig } from './external-rig.ts'

export const SEED = 2
export const SECOND_MS = 1_000
/** Every source is up and every answer whole two to four seconds before. */
export const WARM_MS = 15_000
export const LIE_BPS = 500
/** Above the market's walk between two prices of different ages, and far below `LIE_BPS`. */
const WRONG_BPS = 30
const PEG_WRONG_BPS = 5
/** Back-off is at most 60 s; a source is used again after another 30 s. */
export const BACK_SECONDS_MAX = 120
const COINS: readonly RigCoin[] = ['BTC', 'ETH', 'SOL', 'kPEPE']

/** The most accurate of them depends on their publication times. */
export const standIns = ['redstone', 'pyth-solana', 'pyth-evm'] as const

type Answered = Extract<CallerResult, { status: 200 }>
/** Fault of a source. */
export type Fault = 'dead' | 'stalled' | 'halted' | 'lies' | 'frozen'

export function warmRig(options: Partial<RigOptions> = {}): ExternalRig {
  return new ExternalRig({ seed: SEED, pythKey: 'any', ...options }).runUntil(WARM_MS)
}

/** @returns a function that ends the fault before its time */
export function begin(
  rig: ExternalRig,
  fault: Fault,
  source: SourceId,
  seconds: number,
): () => void {
  const lastsMs = seconds * SECOND_MS
  if (fault === 'lies') return rig.happen({ kind: 'offset', source, bps: LIE_BPS }, lastsMs)
  return rig.happen({ kind: fault, source }, lastsMs)
}

/** Runs second by second and expects no wrong answer. @returns the seconds until the condition held */
export function secondsUntil(
  rig: ExternalRig,
  is: () => boolean,
  secondsMax: number,
  what: string,
): number {
  for (let seconds = 1; seconds <= secondsMax; seconds += 1) {
    rig.runFor(SECOND_MS)
    expect(wrongIn(rig), `${what}, ${seconds} s, seed ${SEED}`).toEqual([])
    if (is()) return seconds
  }
  assert.fail(`not within ${secondsMax} s: ${what}; ${stateOf(rig)}`)
}

export function hold(
  rig: ExternalRig,
  seconds: number,
  what: string,
  is: () => boolean = () => true,
) {
  for (let second = 1; second <= seconds; second += 1) {
    rig.runFor(SECOND_MS)
    expect(wrongIn(rig), `${what}, ${second} s, seed ${SEED}`).toEqual([])
    expect(is(), `${what}, ${second} s; ${stateOf(rig)}`).toBe(true)
  }
}

export function answered(result: CallerResult): Answered | null {
  return result.status === 200 ? result : null
}

export function refusal(result: CallerResult): string {
  return result.status === 503 ? result.why : String(result.status)
}

/** Every current answer that contradicts the simulated truth. */
export function wrongIn(rig: ExternalRig): string[] {
  return [...COINS.flatMap((coin) => wrongOfCoin(rig, coin)), ...wrongOfPeg(rig)]
}

function wrongOfCoin(rig: ExternalRig, coin: RigCoin): string[] {
  const { reference, nowMs } = rig
  const [asset, scale] = coin === 'kPEPE' ? ['PEPE', 1_000] : [coin, 1]
  const truth = (reference.priceUsd(asset, nowMs) ?? Number.NaN) * scale
  const awayBps = (price: number) => Math.abs(price / truth - 1) * 1e4
  const wrong: string[] = []
  const basis = answered(rig.basis(coin))?.body.basis
  if (basis !== undefined && !(awayBps(basis.spot_price) < WRONG_BPS + basis.resolution_bps))
    wrong.push(`/basis/${coin}: ${awayBps(basis.spot_price)} bps off, by ${basis.source}`)
  const cexDex = answered(rig.cexDex(coin))?.body
  if (cexDex === undefined) return wrong
  if (!(awayBps(cexDex.cex_price) < WRONG_BPS))
    wrong.push(`/cex-dex/${coin}: exchanges ${awayBps(cexDex.cex_price)} bps off`)
  const resolutionBps = cexDex.dex_source === 'dex_pool' ? 0 : cexDex.oracle_network.resolution_bps
  const [chain] = cexDex.dex_name.split('/')
  const isLying = isLie(rig, chain)
  if (!isLying && !(awayBps(cexDex.dex_price) < WRONG_BPS + resolutionBps))
    wrong.push(`/cex-dex/${coin}: ${cexDex.dex_name} ${awayBps(cexDex.dex_price)} bps off`)
  return wrong
}

function wrongOfPeg(rig: ExternalRig): string[] {
  const { reference, nowMs } = rig
  const wrong: string[] = []
  const usdc = answered(rig.depeg)?.body.usdc
  const truthBps = ((reference.priceUsd('USDC', nowMs) ?? Number.NaN) - 1) * 1e4
  const isRight = Math.abs(usdc?.signed_deviation_bps - truthBps) < PEG_WRONG_BPS
  if (usdc !== undefined && !(isRight && usdc.peg_status === 'HEALTHY'))
    wrong.push(`/depeg: ${usdc.signed_deviation_bps} bps, ${usdc.peg_status}`)
  const arb = answered(rig.arb)?.body
  // A false price on one chain cannot be distinguished from a real one.
  const isRumour = chains.some((chain) => isLie(rig, chain))
  if (arb !== undefined && !isRumour && arb.opportunities.length > 0)
    wrong.push(`/arb: ${arb.opportunities.length} opportunities`)
  return wrong
}

/** Includes sources that lied a moment ago, because their last value stays in use for a while. */
function isLie({ reference, nowMs }: ExternalRig, source: string): boolean {
  return reference.scenario.some(
    (event) =>
      event.kind === 'offset' &&
      event.source === source &&
      nowMs >= event.fromMs &&
      nowMs < event.untilMs + 40 * SECOND_MS,
  )
}

export function stateOf(rig: ExternalRig): string {
  const lines = [rig.basis('ETH'), rig.cexDex('ETH'), rig.arb, rig.depeg].map((result) =>
    result.status === 200 ? `${result.grade} ${result.warnings} ${result.sources}` : result.why,
  )
  return [...lines, ...rig.statuses.slice(-5)].join(' | ')
}

export function usedBy(rig: ExternalRig, coin: RigCoin): OracleNetwork | undefined {
  return answered(rig.basis(coin))?.body.basis.source
}

/** The reason that the answer states against a network. */
export function whyNot(rig: ExternalRig, coin: RigCoin, network: OracleNetwork): string | null {
  const networks = answered(rig.basis(coin))?.body.basis.oracle_networks ?? []
  return networks.find((row: { network: string }) => row.network === network)?.why_not ?? null
}

export function exchangesUsed(rig: ExternalRig): number {
  return answered(rig.cexDex('ETH'))?.body.exchanges.used_n ?? 0
}

export function freshChains(rig: ExternalRig): number {
  return answered(rig.arb)?.body.chains_scanned ?? 0
}

export function pegClasses(rig: ExternalRig): number {
  return answered(rig.depeg)?.body.agreement.classes ?? 0
}

export function isWhole(rig: ExternalRig): boolean {
  return (
    usedBy(rig, 'ETH') === 'pyth-hermes' &&
    usedBy(rig, 'kPEPE') === 'pyth-hermes' &&
    exchangesUsed(rig) === exchanges.length &&
    freshChains(rig) === chains.length &&
    pegClasses(rig) === 3 &&
    answered(rig.depeg)?.grade === 'A'
  )
}

export function backAgain(rig: ExternalRig, what: string): void {
  secondsUntil(rig, () => isWhole(rig), BACK_SECONDS_MAX, `${what} is over`)
}

/** The newest reported state of a source. */
export function stateOfSource(rig: ExternalRig, source: SourceId): string | undefined {
  return rig.statuses.findLast((line) => line.split(' ')[1] === source)?.split(' ')[2]
}
