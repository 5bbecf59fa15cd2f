import type { Usage } from './network.ts'
import type { ObservedMarket } from './observed-market.ts'
import { read } from './reading.ts'
import type { Service } from './service.ts'
import { venueContracts } from './venue-contracts.ts'

export type Ailment = {
  readonly coin: string | null
  /** Same text for the same trouble of any coin. */
  readonly ailment: string
  readonly detail: string
}

const ALL_TIMEFRAMES = '15m,1h,4h'
/** Warnings about the market, not about our data. */
const MARKET_WARNINGS: ReadonlySet<string> = new Set(['model_estimate', 'thin_book', 'leg_skew'])
const isLateness = (warning: string) => warning === 'feed_degraded' || warning === 'stale_data'
/** The shortest change of open interest covers five minutes, with a tolerance of a tenth. */
const PROMISE_MS_MAX = 6 * 60_000
/** Every document is rendered again within this time. */
const RENDERED_MS_MAX = 10_000
const COIN_CHANNELS = ['candle', 'trades', 'l2Book'] as const
const GLOBAL_CHANNELS = ['fastAssetCtxs', 'allDexsAssetCtxs'] as const

/** Troubles of a service without active faults; empty if healthy. */
export function ailments(
  service: Service,
  usage: Usage,
  market: ObservedMarket,
): readonly Ailment[] {
  const tradable = market.tradable()
  return [
    ...engineAilments(service),
    ...tradable.flatMap((coin) => answerAilments(service, market, coin)),
    ...goneAilments(service, market),
    ...subscriptionAilments(usage, tradable),
  ]
}

function engineAilments({ replica, nowMs }: Service): readonly Ailment[] {
  const state = replica.state(nowMs)
  if (state !== 'available') return [{ coin: null, ailment: `engine ${state}`, detail: '' }]
  return replica
    .feeds()
    .filter((feed) => feed.state !== 'up')
    .map((feed) => ({ coin: null, ailment: 'feed down', detail: JSON.stringify(feed) }))
}

function answerAilments(
  service: Service,
  market: ObservedMarket,
  coin: string,
): readonly Ailment[] {
  return venueContracts.flatMap((contract): readonly Ailment[] => {
    const { id, defaultView } = contract
    const view = id === 'pulse' ? ALL_TIMEFRAMES : defaultView
    const reading = read(service, contract, coin, view)
    if (reading.kind === 'refused') {
      const { reason, noAnswer } = reading
      // Correlation needs BTC.
      if (id === 'correlation' && !market.tradable().includes('BTC')) return []
      // A newly listed coin has no history.
      if (noAnswer !== undefined && market.isNew(coin)) return []
      if (noAnswer?.kind === 'low-coverage' && isPromised(noAnswer.readyAtMs, service.nowMs))
        return []
      return [{ coin, ailment: `${id} ${reason}`, detail: JSON.stringify(noAnswer ?? {}) }]
    }
    if (reading.kind === 'unreadable')
      return [{ coin, ailment: `${id} unreadable`, detail: reading.text }]
    const { warnings, quality } = reading.body.meta
    const ill = warnings.filter((warning) => !MARKET_WARNINGS.has(warning))
    // Windows of days are incomplete in a run of minutes, but nothing may be late.
    const isWell =
      id === 'pulse' ? ill.length === 0 && quality.grade === 'A' : !ill.some(isLateness)
    if (isWell) return []
    const detail = JSON.stringify(reading.body.meta)
    return [{ coin, ailment: `${id} of grade ${quality.grade} ${ill.join(' ')}`, detail }]
  })
}

/** The venue has no history of open interest; the refusal states when the first change is available. */
function isPromised(readyAtMs: number | undefined, nowMs: number): boolean {
  if (readyAtMs === undefined) return false
  return readyAtMs > nowMs - RENDERED_MS_MAX && readyAtMs < nowMs + PROMISE_MS_MAX
}

function goneAilments({ replica }: Service, market: ObservedMarket): readonly Ailment[] {
  return market
    .universe()
    .filter(({ coin, isDelisted }) => isDelisted && replica.resolve(coin)?.coin === coin)
    .map(({ coin }) => ({ coin, ailment: 'delisted and still offered', detail: '' }))
}

function subscriptionAilments(
  { sessions }: Usage,
  tradable: readonly string[],
): readonly Ailment[] {
  const counts = new Map<string, number>()
  for (const { keys } of sessions) {
    for (const key of keys) {
      const { type, coin = '' } = JSON.parse(key) as { type: string; coin?: string }
      counts.set(`${type}/${coin}`, (counts.get(`${type}/${coin}`) ?? 0) + 1)
    }
  }
  const wanted = [
    ...GLOBAL_CHANNELS.map((channel) => ({ channel, coin: '' })),
    ...tradable.flatMap((coin) => COIN_CHANNELS.map((channel) => ({ channel, coin }))),
  ]
  const missing = wanted.filter(({ channel, coin }) => counts.get(`${channel}/${coin}`) !== 1)
  const live = new Set(['', ...tradable])
  const forgotten = [...counts.keys()].filter(
    (name) => !live.has(name.slice(name.indexOf('/') + 1)),
  )
  return [
    ...missing.map(({ channel, coin }) => ({
      coin,
      ailment: `${channel} not subscribed once`,
      detail: `${counts.get(`${channel}/${coin}`) ?? 0} times`,
    })),
    ...forgotten.map((name) => ({ coin: null, ailment: 'a forgotten subscription', detail: name })),
  ]
}
