import type { OraclePriceEvent } from '../../src/domain/external.ts'
import { gaussian, noiseKey } from '../../src/simulator/market/noise.ts'

const SECOND_MS = 1_000
const BPS = 1e-4
/** Standard deviation of a network's own error (docs/simulated-world.md). */
const NOISE_BPS = 0.2

/** How one feed publishes and how our adapter reads it. */
export type FeedRule = Pick<
  OraclePriceEvent,
  'network' | 'place' | 'resolutionBps' | 'heartbeatMs'
> & {
  readonly confidenceBps: number | null
  /** Move that triggers a publication; Infinity for a feed with a heartbeat only. */
  readonly triggerBps: number
  /** Heartbeat: the longest period, and for a feed without a trigger the exact one. */
  readonly everySeconds: number
  /** Delay from the price to its publication. */
  readonly delaySeconds: number
  readonly readEverySeconds: number
}

/** Feeds as run by their networks and read by our adapters; triggers and heartbeats of `pyth-push-feeds`. */
export const feedRules = {
  hermes: rule('pyth-hermes', 0, 1, { confidenceBps: 2.5, delaySeconds: 1, readEverySeconds: 1 }),
  solana: rule('pyth-solana', 50, 60, { confidenceBps: 2.5, delaySeconds: 2 }),
  monad10: rule('pyth-evm', 10, 3_600, { confidenceBps: 2.5, delaySeconds: 2 }),
  monad20: rule('pyth-evm', 20, 3_600, { confidenceBps: 2.5, delaySeconds: 2 }),
  // Signs every 10 s regardless of the price, at full resolution.
  redstone: {
    ...rule('redstone', 5, 10, { confidenceBps: 1, delaySeconds: 3 }),
    triggerBps: Number.POSITIVE_INFINITY,
    heartbeatMs: 30_000,
  },
  chainlink: rule('chainlink', 50, 3_600, { confidenceBps: null, delaySeconds: 20 }),
  chainlinkPeg: rule('chainlink', 25, 86_400, { confidenceBps: null, delaySeconds: 20 }),
  monadPeg: rule('pyth-evm', 20, 3_600, { confidenceBps: 1.25, delaySeconds: 2 }),
  solanaPeg: rule('pyth-solana', 50, 60, { confidenceBps: 1.25, delaySeconds: 2 }),
  hermesPeg: rule('pyth-hermes', 0, 1, {
    confidenceBps: 1.25,
    delaySeconds: 1,
    readEverySeconds: 1,
  }),
  redstonePeg: {
    ...rule('redstone', 1, 10, { confidenceBps: 1, delaySeconds: 3 }),
    triggerBps: Number.POSITIVE_INFINITY,
    heartbeatMs: 30_000,
  },
} as const satisfies Record<string, FeedRule>

function rule(
  network: FeedRule['network'],
  resolutionBps: number,
  everySeconds: number,
  over: Pick<FeedRule, 'confidenceBps' | 'delaySeconds'> &
    Partial<Pick<FeedRule, 'readEverySeconds'>>,
): FeedRule {
  return {
    network,
    place: network === 'pyth-evm' ? 'monad' : '',
    resolutionBps,
    triggerBps: resolutionBps === 0 ? Number.POSITIVE_INFINITY : resolutionBps,
    everySeconds,
    heartbeatMs: everySeconds * SECOND_MS,
    readEverySeconds: 10,
    ...over,
  }
}

/**
 * Readings of a feed that publishes a past price: one event per reading, changed or not.
 * @param pricesUsd one per second
 */
export function readingsOf(
  rule: FeedRule,
  asset: string,
  pricesUsd: readonly number[],
  startMs: number,
): ReadonlyMap<number, OraclePriceEvent> {
  const key = noiseKey(1, 'feed', rule.network, asset, String(rule.resolutionBps))
  const phase = rule.network.length + rule.resolutionBps
  const published: { second: number; priceUsd: number }[] = []
  const events = new Map<number, OraclePriceEvent>()
  let newest = 0
  for (const [second, priceUsd] of pricesUsd.entries()) {
    const last = published.at(-1)
    const isMoved =
      last !== undefined && Math.abs(Math.log(priceUsd / last.priceUsd)) >= rule.triggerBps * BPS
    const isDue = last === undefined || second - last.second >= rule.everySeconds
    const isBusy = last !== undefined && second - last.second < rule.delaySeconds
    if (isDue || (isMoved && !isBusy))
      published.push({
        second,
        priceUsd: priceUsd * (1 + NOISE_BPS * BPS * gaussian(key, second)),
      })
    if ((second + phase) % rule.readEverySeconds !== 0) continue
    while (
      (published[newest + 1]?.second ?? Number.POSITIVE_INFINITY) + rule.delaySeconds <=
      second
    )
      newest += 1
    const known = published[newest]
    if (known === undefined || known.second + rule.delaySeconds > second) continue
    const confidenceUsd =
      rule.confidenceBps === null ? null : known.priceUsd * rule.confidenceBps * BPS
    events.set(second, {
      kind: 'oracle-price',
      network: rule.network,
      place: rule.place,
      asset,
      priceUsd: known.priceUsd,
      confidenceUsd,
      ema: confidenceUsd === null ? null : { priceUsd: known.priceUsd, confidenceUsd },
      resolutionBps: rule.resolutionBps,
      heartbeatMs: rule.heartbeatMs,
      timeExchangeMs: startMs + known.second * SECOND_MS,
      timeReceivedMs: startMs + second * SECOND_MS,
    })
  }
  return events
}
