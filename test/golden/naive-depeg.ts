import type { ExternalEvent } from '../../src/domain/external.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** One instant, from the newest event of every feed. `null` without a fresh feed. */
export type NaiveInstant = {
  readonly atMs: number
  readonly priceUsd: number
  readonly deviationBps: number
  readonly confidenceBps: number
  readonly adjustedBps: number
  readonly called: number
  readonly receivedMs: number
} | null

export type NaiveState = {
  readonly level: number
  readonly status: string
  readonly seconds: readonly number[]
}

type Word = {
  readonly usd: number
  readonly confidence: number | null
  readonly resolution: number
  readonly receivedMs: number
  readonly voter: string
  /** Standard error of an oracle feed; markets have none. */
  readonly wrong?: number
  /** Largest unpublished move by now, at most the resolution. */
  readonly hidden: number
}

type Group = {
  usd: number
  confidence: number
  resolution: number
  from: string
  /** Voters within 20 bps, minus voters further away than 20 bps plus their resolution. */
  backers: number
  rests?: string
}

const thresholds = [10, 25, 100, 200, 500]

/**
 * The price of USDC at each instant, defined in docs/numbers/depeg.md. Each instant is computed from the newest
 * event of every feed.
 */
export function naiveInstants(
  events: readonly ExternalEvent[],
  instantsMs: readonly number[],
): NaiveInstant[] {
  const last = new Map<string, ExternalEvent>()
  const lastReceivedMs = new Map<string, number>()
  let next = 0
  return instantsMs.map((nowMs) => {
    for (; ; next += 1) {
      const event = events[next]
      if (event === undefined || event.timeReceivedMs > nowMs) break
      last.set(nameOf(event), event)
      if (event.kind === 'exchange-quote') lastReceivedMs.set(event.exchange, event.timeReceivedMs)
    }
    return instant([...last.values()], lastReceivedMs, nowMs)
  })
}

function nameOf(event: ExternalEvent): string {
  if (event.kind === 'oracle-price') return `${event.network}/${event.place}/${event.asset}`
  if (event.kind === 'exchange-quote') return `${event.exchange}/${event.asset}/${event.quote}`
  return event.kind === 'pool' ? `${event.chain}/${event.pool}` : event.kind
}

function instant(
  events: readonly ExternalEvent[],
  lastReceivedMs: ReadonlyMap<string, number>,
  nowMs: number,
): NaiveInstant {
  const oracle = group('oracle', oracleWords(events, 'USDC', nowMs))
  const exchange = group('exchange', quoteWords(events, lastReceivedMs, 'USDC', 'USD', nowMs))
  const tether = [
    group('oracle', oracleWords(events, 'USDT', nowMs)),
    group('exchange', quoteWords(events, lastReceivedMs, 'USDT', 'USD', nowMs)),
  ].filter((one) => one !== null)
  const crossWords = [
    ...quoteWords(events, lastReceivedMs, 'USDC', 'USDT', nowMs),
    ...poolWords(events, nowMs),
  ]
  const cross = crossOf(crossWords, tether)
  const groups = [oracle, exchange, cross].filter((one) => one !== null)
  const used = decisive(groups)
  if (used.length === 0) return null
  const priceUsd = middle(used.map(({ usd }) => usd))
  const confidenceBps = middle(used.map(({ confidence }) => confidence))
  const resolutionBps = middle(used.map(({ resolution }) => resolution))
  const deviationBps = bpsOf(priceUsd)
  const size = Math.abs(deviationBps) - confidenceBps - resolutionBps
  const adjustedBps = size <= 0 ? 0 : deviationBps < 0 ? -size : size
  const all = [
    ...oracleWords(events, 'USDC', nowMs),
    ...quoteWords(events, lastReceivedMs, 'USDC', 'USD', nowMs),
  ]
  if (cross !== null) all.push(...crossWords)
  return {
    atMs: nowMs,
    priceUsd,
    deviationBps,
    confidenceBps,
    adjustedBps,
    called: calledLevel(groups, deviationBps, Math.abs(adjustedBps)),
    receivedMs: Math.max(...all.map(({ receivedMs }) => receivedMs)),
  }
}

/** A tie of two groups is used only if both independently deviate by 25 bps or more to the same side. */
function decisive(groups: readonly Group[]): readonly Group[] {
  if (groups.length !== 2) return groups
  const most = Math.max(...groups.map(({ backers }) => backers))
  const backed = groups.filter(({ backers }) => backers === most)
  const [one, other] = backed
  if (one === undefined || other === undefined) return backed
  if (Math.abs(bpsOf(one.usd) - bpsOf(other.usd)) <= 20) return backed
  const areFree = one.rests !== other.from && other.rests !== one.from
  const isBreak = [-1, 1].some((side) =>
    backed.every(({ usd, confidence }) => side * bpsOf(usd) - confidence >= 25),
  )
  return areFree && isBreak ? backed : []
}

function calledLevel(groups: readonly Group[], deviationBps: number, sizeBps: number): number {
  let called = 0
  thresholds.forEach((threshold, at) => {
    if (sizeBps < threshold) return
    const seers = groups.filter(({ usd, confidence }) => {
      const own = deviationBps < 0 ? -bpsOf(usd) : bpsOf(usd)
      return own - confidence >= threshold
    })
    const free = seers.some((one) =>
      seers.some((other) => one !== other && one.rests !== other.from && other.rests !== one.from),
    )
    if (at === 0 || free) called = at + 1
  })
  return called
}

function oracleWords(events: readonly ExternalEvent[], asset: string, nowMs: number): Word[] {
  const words: Word[] = []
  for (const event of events) {
    if (event.kind !== 'oracle-price' || event.asset !== asset) continue
    const saidMs = Math.min(event.timeExchangeMs, event.timeReceivedMs)
    const limitMs =
      event.network === 'chainlink'
        ? event.heartbeatMs + 2 * HOUR_MS
        : Math.max(2 * MINUTE_MS, 2 * event.heartbeatMs)
    if (nowMs - saidMs > limitMs || !isPrice(event.priceUsd)) continue
    words.push({
      usd: event.priceUsd,
      confidence:
        event.confidenceUsd === null ? null : (1e4 * event.confidenceUsd) / event.priceUsd,
      resolution: event.resolutionBps,
      receivedMs: event.timeReceivedMs,
      voter: event.network.slice(0, 4),
      ...wrongBy(event, events, nowMs),
    })
  }
  // Per network: the feed with the smallest error, the finer one of equals, and feeds with the same resolution.
  return words.filter(
    (word) =>
      !words.some((one) => {
        const [less, more] = [one.wrong ?? 0, word.wrong ?? 0]
        const isFiner = one.resolution < word.resolution
        if (one.voter !== word.voter || one.resolution === word.resolution) return false
        // Errors within 5 % count as equal.
        return isFiner ? less <= 1.05 * more : 1.05 * less < more
      }),
  )
}

type OracleWord = Extract<ExternalEvent, { kind: 'oracle-price' }>

/** Confidence plus 0.2 bps per root second, bounded by the trigger and the delay until the feed is read. */
function wrongBy(event: OracleWord, events: readonly ExternalEvent[], nowMs: number) {
  const stated = (one: OracleWord) =>
    one.confidenceUsd === null ? 5 : (1e4 * one.confidenceUsd) / one.priceUsd
  const saidMs = (one: OracleWord) => Math.min(one.timeExchangeMs, one.timeReceivedMs)
  const isPyth = ({ network }: OracleWord) => network.startsWith('pyth')
  const markets = events.flatMap((one) => {
    if (one.kind !== 'oracle-price' || one.asset !== event.asset || !isPyth(one)) return []
    const beats = 2 * one.heartbeatMs
    const lateMs = Math.min(Math.max(10_000, beats), Math.max(2 * MINUTE_MS, beats) - 3_000)
    return one.confidenceUsd === null || nowMs - saidMs(one) > lateMs ? [] : [stated(one)]
  })
  const least = isPyth(event) || markets.length === 0 ? 0 : Math.min(...markets)
  const free = 0.2 * Math.sqrt(Math.max(0, nowMs - saidMs(event)) / 1_000)
  const delay = { 'pyth-solana': 5, 'pyth-evm': 5, chainlink: 30, redstone: 0, 'pyth-hermes': 0 }[
    event.network
  ]
  const isPushed = delay > 0 && event.resolutionBps > 0
  const blind = 0.2 * Math.sqrt(Math.max(0, nowMs - event.timeReceivedMs) / 1_000 + delay)
  const within = Math.sqrt((0.435236 * event.resolutionBps) ** 2 + blind ** 2)
  const moved = isPushed ? Math.min(free, within) : free
  const far = isPushed ? Math.min(2 * free, event.resolutionBps + 2 * blind) : 2 * free
  return {
    wrong: Math.sqrt(Math.max(least, stated(event)) ** 2 + moved ** 2),
    hidden: Math.min(event.resolutionBps, far),
  }
}

function quoteWords(
  events: readonly ExternalEvent[],
  lastReceivedMs: ReadonlyMap<string, number>,
  asset: string,
  quote: string,
  nowMs: number,
): Word[] {
  return events.flatMap((event) => {
    if (event.kind !== 'exchange-quote' || event.asset !== asset || event.quote !== quote) return []
    const { bid, ask, exchange, timeReceivedMs } = event
    const mid = (bid + ask) / 2
    const ageMs = nowMs - timeReceivedMs
    const stands =
      ageMs <= MINUTE_MS && nowMs - (lastReceivedMs.get(exchange) ?? Number.NaN) <= 5_000
    if (ageMs > 5_000 && !stands) return []
    if (!isPrice(mid) || bid <= 0 || ask < bid || (1e4 * (ask - bid)) / mid > 200) return []
    return [
      {
        usd: mid,
        confidence: (0.5e4 * (ask - bid)) / mid,
        resolution: 0,
        hidden: 0,
        receivedMs: timeReceivedMs,
        voter: exchange,
      },
    ]
  })
}

function poolWords(events: readonly ExternalEvent[], nowMs: number): Word[] {
  return events.flatMap((event) => {
    if (event.kind !== 'pool') return []
    const pair = `${event.asset}/${event.quote}`
    if (pair !== 'USDC/USDT' && pair !== 'USDT/USDC') return []
    const usd = pair === 'USDC/USDT' ? event.price : 1 / event.price
    const saidMs = Math.min(event.timeExchangeMs, event.timeReceivedMs)
    if (!isPrice(usd) || nowMs - saidMs > MINUTE_MS) return []
    if (!(event.balanceQuote >= 250_000 && event.reserveQuote >= 250_000)) return []
    return [
      {
        usd,
        confidence: event.feeBps,
        resolution: 0,
        hidden: 0,
        receivedMs: event.timeReceivedMs,
        voter: event.chain,
      },
    ]
  })
}

function crossOf(words: readonly Word[], tether: readonly Group[]): Group | null {
  const [one, other] = tether
  if (one === undefined || words.length === 0) return null
  if (other !== undefined && Math.abs(bpsOf(one.usd) - bpsOf(other.usd)) > 45) return null
  const usdt = middle(tether.map(({ usd }) => usd))
  const confidence = middle(tether.map((each) => each.confidence))
  const resolution = middle(tether.map((each) => each.resolution))
  const found = group(
    'cross',
    words.map((word) => ({
      ...word,
      usd: word.usd * usdt,
      confidence: (word.confidence ?? 0) + confidence,
      resolution: word.resolution + resolution,
      hidden: word.hidden + resolution,
    })),
  )
  if (found === null) return null
  const knowing = tether.reduce((sum, { backers }) => sum + backers, 0)
  found.backers = Math.min(found.backers, knowing)
  if (other === undefined) found.rests = one.from
  return found
}

function group(from: string, words: readonly Word[]): Group | null {
  if (words.length === 0) return null
  const share = ({ voter }: Word) => 1 / words.filter((one) => one.voter === voter).length
  const pick = (of: readonly Word[], value: (word: Word) => number) =>
    halfway(of.map((word) => [value(word), share(word)] as const))
  const heart = pick(words, (word) => word.usd)
  const says = (word: Word) => (word.confidence ?? 0) + word.resolution
  const slack = pick(words, says)
  // Exclude feeds far from the median; of the others use those with the smallest error.
  const honest = words.filter(
    (word) =>
      word.wrong !== undefined &&
      Math.abs(bpsOf(word.usd) - bpsOf(heart)) <= Math.max(20, says(word) + slack),
  )
  const least = Math.min(...honest.map(({ wrong }) => wrong ?? 0))
  const best = honest.filter(({ wrong }) => (wrong ?? 0) <= 1.05 * least)
  const tellers = best.length > 0 ? best : words
  const sure = tellers.filter(({ confidence }) => confidence !== null)
  const usd = pick(tellers, (word) => word.usd)
  const voters = [...new Set(words.map(({ voter }) => voter))]
  const awayBps = (voter: string, slack: (word: Word) => number) =>
    words
      .filter((word) => word.voter === voter)
      .map((word) => Math.abs(bpsOf(word.usd) - bpsOf(usd)) - slack(word))
  const backers = voters.filter((voter) => awayBps(voter, () => 0).some((bps) => bps <= 20))
  const against = voters
    .filter((voter) => !backers.includes(voter))
    .filter((voter) => awayBps(voter, ({ resolution }) => resolution).some((bps) => bps > 20))
  return {
    usd,
    backers: Math.max(0, backers.length - against.length),
    confidence: sure.length === 0 ? 0 : pick(sure, ({ confidence }) => confidence ?? 0),
    resolution: pick(tellers, ({ hidden }) => hidden),
    from,
  }
}

/** Weighted median: the middle of all values with at most half of the weight on each side. */
function halfway(weighted: readonly (readonly [number, number])[]): number {
  const total = weighted.reduce((sum, [, weight]) => sum + weight, 0)
  const half = total / 2 + 1e-9
  const central = weighted
    .map(([value]) => value)
    .filter((value) => {
      const below = weighted.filter(([other]) => other < value)
      const above = weighted.filter(([other]) => other > value)
      const sum = (of: typeof weighted) => of.reduce((all, [, weight]) => all + weight, 0)
      return sum(below) <= half && sum(above) <= half
    })
  return (Math.min(...central) + Math.max(...central)) / 2
}

function middle(values: readonly number[]): number {
  return halfway(values.map((value) => [value, 1] as const))
}

function bpsOf(usd: number): number {
  return Number(((usd - 1) * 1e4).toFixed(6))
}

function isPrice(usd: number): boolean {
  return usd > 0 && usd <= 10
}

/** Level, status and durations after each instant, each computed from all instants up to it. */
export function naiveStates(instants: readonly NaiveInstant[]): NaiveState[] {
  const known = instants.filter((one) => one !== null)
  const states = new Map<number, NaiveState>()
  const spellStarts: number[] = [Number.NaN, Number.NaN, Number.NaN, Number.NaN]
  let [level, status] = [0, 0]
  for (const [at, one] of known.entries()) {
    const beforeMs = known[at - 1]?.atMs ?? Number.NEGATIVE_INFINITY
    if (one.atMs - beforeMs > 2 * HOUR_MS) [level, status] = [0, 0]
    if (one.atMs - beforeMs > MINUTE_MS) spellStarts.fill(Number.NaN)
    const lasted = (neededMs: number, holds: (of: NonNullable<NaiveInstant>) => boolean) =>
      hasLasted(known, at, neededMs, holds)
    // As printed, in hundredths.
    const size = (of: NonNullable<NaiveInstant>) => Math.round(Math.abs(of.adjustedBps) * 100) / 100
    const reached = [1, 2, 3, 4, 5].filter((each) =>
      lasted((each < 4 ? 5 : 1) * MINUTE_MS, ({ called }) => called >= each),
    )
    const highest = Math.max(0, ...reached)
    if (highest > level) level = highest
    else
      while (level > 0) {
        const half = (thresholds[level - 1] as number) / 2
        if (!lasted(15 * MINUTE_MS, (of) => size(of) < half)) break
        level -= 1
      }
    for (const [which, fromBps] of [10, 25, 50, 100].entries()) {
      if (Number.isNaN(spellStarts[which] as number) && size(one) >= fromBps)
        spellStarts[which] = one.atMs
      if (lasted(15 * MINUTE_MS, (of) => size(of) < fromBps / 2)) spellStarts[which] = Number.NaN
    }
    status = nextStatus(known, at, status)
    states.set(one.atMs, {
      level,
      status: ['HEALTHY', 'ELEVATED', 'WARNING', 'CRITICAL'][status] as string,
      seconds: spellStarts.map((startMs) =>
        Number.isNaN(startMs) ? 0 : (one.atMs - startMs) / 1e3,
      ),
    })
  }
  let state: NaiveState = { level: 0, status: 'HEALTHY', seconds: [0, 0, 0, 0] }
  return instants.map((one) => {
    state = states.get(one?.atMs ?? Number.NaN) ?? state
    return state
  })
}

/** Whether a condition has held for `neededMs` without a gap of more than a minute. */
function hasLasted(
  known: readonly NonNullable<NaiveInstant>[],
  at: number,
  neededMs: number,
  holds: (of: NonNullable<NaiveInstant>) => boolean,
): boolean {
  const nowMs = known[at]?.atMs ?? Number.NaN
  for (let back = at; back >= 0; back -= 1) {
    const one = known[back] as NonNullable<NaiveInstant>
    if (!holds(one)) return false
    if (nowMs - one.atMs >= neededMs) return true
    const before = known[back - 1]
    if (before === undefined || one.atMs - before.atMs > MINUTE_MS) return false
  }
  return false
}

function nextStatus(
  known: readonly NonNullable<NaiveInstant>[],
  at: number,
  before: number,
): number {
  const now = known[at] as NonNullable<NaiveInstant>
  const wordFor = (bps: number) => (bps > 200 ? 3 : bps >= 50 ? 2 : bps >= 10 ? 1 : 0)
  const raw = wordFor(Math.abs(now.deviationBps))
  const sure = wordFor(Math.abs(now.deviationBps) - now.confidenceBps)
  const repeated = [1, 2, 3].filter((each) => {
    let seen = 0
    for (let back = at; back >= 0; back -= 1) {
      const one = known[back] as NonNullable<NaiveInstant>
      if (wordFor(Math.abs(one.deviationBps)) < each) return false
      if (one.receivedMs !== known[back - 1]?.receivedMs) seen += 1
      if (seen === 3) return true
      const earlier = known[back - 1]
      if (earlier === undefined || one.atMs - earlier.atMs > MINUTE_MS) return false
    }
    return false
  })
  return Math.min(raw, Math.max(before, sure, ...repeated))
}
