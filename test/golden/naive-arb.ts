import type { Chain, PoolEvent } from '../../src/domain/external.ts'
import { chains } from '../../src/domain/external.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const assets = ['ETH', 'BTC', 'USDC'] as const
type Asset = (typeof assets)[number]

/** All inputs of one sample. */
export type NaiveSample = {
  readonly nowMs: number
  /** The newest event of every pool. */
  readonly pools: readonly PoolEvent[]
  /** The gas cost of an absent chain is unknown. */
  readonly gasUsd: Readonly<Partial<Record<Chain, number>>>
  readonly stableUsd: Readonly<Record<'USDC' | 'USDT', number>>
  /** NaN for unknown. */
  readonly exchangesUsd: Readonly<Record<Asset, number>>
}

export type NaiveOpportunity = {
  readonly name: string
  readonly netBps: number
  readonly ageMs: number
}

export type NaiveResult = {
  readonly references: Readonly<Record<Asset, number>>
  /** Gap by `<asset> <chain>`, for the pools in use. */
  readonly gapsBps: ReadonlyMap<string, number>
  readonly raw: readonly number[]
  readonly scores: readonly number[]
  readonly index: number
  readonly opportunities: readonly NaiveOpportunity[]
}

/** A value of one series. */
type Logged = { readonly timeMs: number; readonly value: number }

type Spot = {
  readonly price: number
  readonly heldUsd: number
  readonly costBps: number
  readonly bandBps: number
  readonly gap: number
}

/**
 * Reference of `/arb`: each sample is computed from all samples up to it, without state or running sums. Defined in
 * `docs/numbers/arb.md`; written independently of the code under test. null for a sample with too few chains, or without any
 * reference.
 */
export function naiveArb(samples: readonly NaiveSample[]): (NaiveResult | null)[] {
  const results: (NaiveResult | null)[] = []
  /** Net of every pair in every sample; absent if it cannot be computed. */
  const nets: Map<string, number>[] = []
  const logged = new Map<string, Logged[]>()
  const log = (series: string, row: Logged) => {
    const rows = logged.get(series) ?? []
    rows.push(row)
    logged.set(series, rows)
  }
  const scoreRows: { timeMs: number; scores: readonly number[] }[] = []
  for (const sample of samples) {
    const timeMs = Math.floor(sample.nowMs / 10_000) * 10_000
    const known = new Map<string, number[]>()
    const past = (series: string) => {
      const found = known.get(series) ?? minutesOfDay(logged.get(series) ?? [], sample.nowMs)
      known.set(series, found)
      return found
    }
    const spots = new Map<string, Spot>()
    const references = { ETH: Number.NaN, BTC: Number.NaN, USDC: Number.NaN }
    for (const asset of assets) {
      references[asset] = measureAsset(asset, sample, spots)
    }
    const usuals = new Map<string, number>()
    const usual = (name: string) => {
      const before = past(name)
      return before.length < 360 ? 0 : Math.min(100, Math.max(-100, plainMedian(before)))
    }
    const excess = (name: string) => {
      const bps = usuals.get(name) ?? usual(name)
      usuals.set(name, bps)
      return (spots.get(name)?.gap ?? Number.NaN) - bps
    }
    const net = new Map<string, number>()
    for (const asset of assets)
      for (const buy of chains)
        for (const sell of chains) {
          const [from, to] = [spots.get(`${asset} ${buy}`), spots.get(`${asset} ${sell}`)]
          if (buy === sell || from === undefined || to === undefined) continue
          const apart = excess(`${asset} ${sell}`) - excess(`${asset} ${buy}`)
          const gross = (Math.exp(apart / 10_000) - 1) * 10_000
          const cost = from.costBps + to.costBps + 2
          // As printed, in hundredths.
          const left = (halvesAway(gross * 100) - halvesAway(cost * 100)) / 100
          if (!Number.isNaN(left)) net.set(`${asset} ${buy} ${sell}`, left)
        }
    nets.push(net)
    const times = samples
      .slice(0, nets.length)
      .map((one) => Math.floor(one.nowMs / 10_000) * 10_000)
    const opportunities: NaiveOpportunity[] = []
    for (const [name, netBps] of net) {
      const ageMs = openForMs(name, nets, times)
      if (ageMs !== null) opportunities.push({ name, netBps, ageMs })
    }
    const priced = [...spots.keys()]
    const fresh = chains.filter((chain) => priced.some((name) => name.endsWith(` ${chain}`)))
    if (fresh.length < 5 || net.size === 0) {
      results.push(null)
      continue
    }
    const judged = priced.filter((name) => !Number.isNaN(excess(name)))
    const over = judged
      .map((name) => Math.abs(excess(name)) - (spots.get(name)?.bandBps ?? 0))
      .filter((bps) => !Number.isNaN(bps))
    const gasTrouble = chains.filter((chain) => {
      const now = sample.gasUsd[chain]
      const before = past(`gas ${chain}`).map(Math.log)
      if (before.length < 360 || now === undefined) return false
      const mean = sum(before) / before.length
      const deviation = Math.sqrt(sum(before.map((value) => (value - mean) ** 2)) / before.length)
      return (Math.log(now) - mean) / Math.max(0.1, deviation) > 3
    })
    const raw = [
      Math.max(
        0,
        ...assets.map((asset) => {
          const own = judged.filter((name) => name.startsWith(asset)).map(excess)
          if (own.length === 0) return 0
          const middle = plainMedian(own)
          return 1.4826 * plainMedian(own.map((value) => Math.abs(value - middle)))
        }),
      ),
      Math.max(0, ...over),
      over.filter((bps) => bps > 0).length / over.length,
      Math.max(0, ...opportunities.map(({ ageMs }) => ageMs)) / 1_000,
      chains.filter((chain) => !fresh.includes(chain) || gasTrouble.includes(chain)).length / 8,
    ]
    const anchors = [
      [2, 40],
      [0, 60],
      [0, 0.6],
      [60, 1_800],
      [0, 0.5],
    ] as const
    const scores = raw.map((value, at) => {
      const [low, high] = anchors[at] as readonly [number, number]
      const ramp = value <= low ? 0 : value >= high ? 1 : (value - low) / (high - low)
      const before = past(`raw ${at}`)
      if (before.length < 60) return ramp
      const w = 0.35 * Math.min(1, before.length / 1_440)
      const rank = sum(before.map((one) => (one < value ? 1 : one === value ? 0.5 : 0)))
      return (1 - w) * ramp + (w * rank) / before.length
    })
    scoreRows.push({ timeMs, scores })
    const index = indexOf(scoreRows)
    results.push({
      references,
      gapsBps: new Map(judged.map((name) => [name, (spots.get(name) as Spot).gap])),
      raw,
      scores,
      index,
      opportunities,
    })
    for (const name of judged) log(name, { timeMs, value: (spots.get(name) as Spot).gap })
    for (const [at, value] of raw.entries()) log(`raw ${at}`, { timeMs, value })
    for (const chain of chains) {
      const gas = sample.gasUsd[chain]
      if (gas !== undefined) log(`gas ${chain}`, { timeMs, value: gas })
    }
  }
  return results
}

/** Adds the asset's chains to `spots`. @returns the reference price, NaN with too few chains */
function measureAsset(asset: Asset, sample: NaiveSample, spots: Map<string, Spot>): number {
  const used = new Map<Chain, { pool: PoolEvent; usd: number }>()
  for (const chain of chains) {
    const limitMs = chain === 'ethereum' ? 36_000 : 30_000
    const deepest = sample.pools
      .filter((pool) => pool.chain === chain && pool.asset === asset)
      .filter((pool) => Math.abs(sample.nowMs - pool.timeExchangeMs) <= limitMs)
      .toSorted(
        (a, b) =>
          Math.min(b.balanceQuote, b.reserveQuote) - Math.min(a.balanceQuote, a.reserveQuote),
      )[0]
    if (deepest === undefined) continue
    const usd = sample.stableUsd[deepest.quote]
    if (deepest.balanceQuote * usd >= 250_000) used.set(chain, { pool: deepest, usd })
  }
  if (used.size < 3) {
    // NaN entries still count the chain as live.
    for (const chain of used.keys())
      spots.set(`${asset} ${chain}`, {
        price: Number.NaN,
        heldUsd: Number.NaN,
        costBps: Number.NaN,
        bandBps: Number.NaN,
        gap: Number.NaN,
      })
    return Number.NaN
  }
  const held = [...used.values()].map(({ pool, usd }) => pool.balanceQuote * usd)
  const usual = plainMedian(held)
  const votes = [...used.values()].map(({ pool, usd }) => ({
    price: pool.price * usd,
    weight: Math.min(pool.balanceQuote * usd, 2 * usual),
  }))
  const exchange = sample.exchangesUsd[asset]
  if (!Number.isNaN(exchange)) votes.push({ price: exchange, weight: usual })
  const reference = Math.min(
    ...votes
      .map(({ price }) => price)
      .filter((price) => {
        const upTo = sum(votes.filter((vote) => vote.price <= price).map(({ weight }) => weight))
        return upTo > sum(votes.map(({ weight }) => weight)) / 2
      }),
  )
  for (const [chain, { pool, usd }] of used) {
    const gas = sample.gasUsd[chain] ?? Number.NaN
    const price = pool.price * usd
    const impact = (50_000 / (pool.reserveQuote * usd)) * 10_000
    const fixed = pool.feeBps + (gas / 50_000) * 10_000 + 2
    spots.set(`${asset} ${chain}`, {
      price,
      heldUsd: pool.balanceQuote * usd,
      costBps: pool.feeBps + impact + (gas / 50_000) * 10_000,
      bandBps: fixed + Math.min(impact, fixed),
      gap: (Math.log(price) - Math.log(reference)) * 10_000,
    })
  }
  return reference
}

/** How long a pair has been profitable until now; null unless the last two computed samples are. */
function openForMs(
  name: string,
  nets: readonly ReadonlyMap<string, number>[],
  times: readonly number[],
): number | null {
  const nowMs = times.at(-1) as number
  let [firstMs, count] = [nowMs, 0]
  for (let at = nets.length - 1; at >= 0; at -= 1) {
    const net = nets[at]?.get(name)
    if (net === undefined) continue
    if (!(net > 0) || firstMs - (times[at] as number) > 120_000) break
    firstMs = times[at] as number
    count += 1
  }
  return count < 2 ? null : nowMs - firstMs
}

/** Writes out each sample's weight in the correlation. */
function indexOf(rows: readonly { timeMs: number; scores: readonly number[] }[]): number {
  const last = rows.at(-1) as { timeMs: number; scores: readonly number[] }
  const decay = (ms: number) => 0.93 ** (ms / MINUTE_MS)
  const share = rows.map(({ timeMs }, at) => {
    const before = rows[at - 1]
    const own = before === undefined ? 1 : 1 - decay(timeMs - before.timeMs)
    return own * decay(last.timeMs - timeMs)
  })
  const moment = (one: number, other: number) =>
    sum(
      rows.map(
        ({ scores }, at) =>
          (share[at] as number) *
          ((scores[one] as number) - 0.5) *
          ((scores[other] as number) - 0.5),
      ),
    )
  const weights = [0.25, 0.25, 0.2, 0.15, 0.15]
  let square = 0
  for (const [one, a] of weights.entries())
    for (const [other, b] of weights.entries()) {
      const scale = Math.sqrt(moment(one, one) * moment(other, other))
      const r = one === other ? 1 : scale === 0 ? 0 : Math.max(0, moment(one, other) / scale)
      square += a * b * r * (last.scores[one] as number) * (last.scores[other] as number)
    }
  return 100 * Math.sqrt(square)
}

/** Last value of each minute of the 24 hours before the current five minutes. */
function minutesOfDay(rows: readonly Logged[], nowMs: number): number[] {
  const endMs = Math.floor(nowMs / (5 * MINUTE_MS)) * 5 * MINUTE_MS
  const minutes = new Map<number, number>()
  for (const row of rows) {
    if (row.timeMs >= endMs || row.timeMs < endMs - DAY_MS) continue
    minutes.set(Math.floor(row.timeMs / MINUTE_MS), row.value)
  }
  return [...minutes.values()]
}

function plainMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return Number.isInteger(half)
    ? ((sorted[half - 1] as number) + (sorted[half] as number)) / 2
    : (sorted[Math.floor(half)] as number)
}

function halvesAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
