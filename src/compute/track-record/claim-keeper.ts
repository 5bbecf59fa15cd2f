import type { MarketEvent } from '../../domain/event.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { Claim, ResolvedClaim, Statement, VoidReason } from '../../domain/track-record.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import type { MarketState, MarketTracker } from '../market/market-state.ts'
import { marketTracker } from '../market/market-state.ts'
import { joinNamed, splitNamed } from '../market/saved-sections.ts'
import { trackRecord } from '../track-record-statistics/track-record.ts'
import { drawOf, drawPrefix } from './draw.ts'
import { recentBars } from './recent-bars.ts'
import type { Moment, Rule, Stated } from './rule.ts'
import { DAY_MS, HOUR_MS } from './rule.ts'
import { ruleOf, rules } from './rules.ts'
import { claimsFromNumbers, claimsToNumbers } from './saved-claims.ts'
import { unstoredClaims } from './unstored-claims.ts'

const QUARTER_MS = timeframeMs['15m']

/** A claim is made shortly after its instant, or not at all: later the estimate knows a part of the outcome. */
const LATE_MS_MAX = 60_000

/**
 * Coins whose closed bar is handled in one advance, of which there are 25 a second: all of them close at once, and a claim
 * may take some milliseconds, for a map or a forecast.
 */
const COINS_PER_ADVANCE = 2

/** Time after the horizon until which candles and settlements may arrive late. */
const OUTCOME_LATE_MS_MAX = DAY_MS / 2

/** Open claims of one coin; about 50 are expected. */
const OPEN_MAX = 96

/** Name of the section with the last bar that was seen; no coin is called so. */
const SEEN = ' seen'

const SIGNIFICANT_DIGITS = 6

type CoinClaims = {
  /** Of each rule, in their order. */
  readonly drawPrefixes: Uint32Array
  /** End of the last closed bar that was handled; NaN before any. */
  seenUntilMs: number
  open: readonly Claim[]
  /** When the first of them can be resolved: most closed bars resolve none. */
  dueMs: number
  /** The open claims as numbers, kept until they change: a checkpoint is written every few seconds. */
  numbers: Float64Array | null
}

/**
 * Makes the drawn claims of every coin when a 15m bar closes, and resolves them by the bars that follow. Everything is
 * decided by events and saved with them, so a replay, and a restart, resolve the same claims.
 */
export class ClaimKeeper implements MarketTracker {
  readonly inputs = ['universe'] as const
  readonly #coins = new Map<string, CoinClaims>()
  /** Claims that were open before the last restart. */
  readonly #restored = new WeakSet<Claim>()
  #expiredHour = Number.NaN

  /** Claims made after an instant that are not resolved. */
  madeAfter(sinceMs: number): readonly Claim[] {
    return Array.from(this.#coins.values(), ({ open }) =>
      open.filter(({ madeAtMs }) => madeAtMs > sinceMs),
    ).flat()
  }

  /** After a new list of coins, the claims about those that are gone are void. */
  apply(event: MarketEvent, market: MarketState): void {
    if (event.kind !== 'universe') return
    for (const [name, { open }] of this.#coins) {
      if (market.coin(name) !== undefined) continue
      for (const claim of open) this.#resolveVoid(claim, 'delisted', event.timeExchangeMs, market)
      this.#coins.delete(name)
    }
  }

  advance(market: MarketState, nowMs: number): void {
    let handled = 0
    for (const coin of market.coins()) {
      if (this.#advanceCoin(coin, market, nowMs)) handled += 1
      if (handled === COINS_PER_ADVANCE) break
    }
    const hour = Math.floor(market.venueMs / HOUR_MS)
    if (Number.isNaN(hour) || hour === this.#expiredHour) return
    this.#expiredHour = hour
    for (const claims of this.#coins.values()) this.#expire(claims, market)
  }

  save(): Float64Array {
    return joinNamed(
      new Map<string, ArrayLike<number>>([
        [SEEN, Array.from(this.#coins.values(), ({ seenUntilMs }) => seenUntilMs)],
        ...Array.from(this.#coins, ([name, claims]) => {
          claims.numbers ??= claimsToNumbers(claims.open)
          return [name, claims.numbers] as const
        }),
      ]),
    )
  }

  restore(saved: Float64Array): boolean {
    const sections = splitNamed(saved)
    const seen = sections?.get(SEEN)
    if (!sections || seen === undefined || seen.length !== sections.size - 1) return false
    const coins = [...sections]
      .filter(([name]) => name !== SEEN)
      .map(([name, numbers]) => [name, claimsFromNumbers(name, numbers)] as const)
    if (coins.some(([, open]) => open === null)) return false
    for (const [at, [name, read]] of coins.entries()) {
      const open = read ?? []
      for (const claim of open) this.#restored.add(claim)
      this.#coins.set(name, newClaims(name, seen[at] as number, open))
    }
    return true
  }

  /** @returns whether a bar has closed since the last call */
  #advanceCoin(coin: CoinMarket, market: MarketState, nowMs: number): boolean {
    const { closedUntilMs, isContinuous } = coin.ladder
    const claims = this.#claimsOf(coin.listing.coin)
    // Also false where the last bar was reopened: it closes again.
    if (!(closedUntilMs > claims.seenUntilMs) && !Number.isNaN(claims.seenUntilMs)) return false
    if (Number.isNaN(closedUntilMs)) return false
    claims.seenUntilMs = closedUntilMs
    if (claims.dueMs <= closedUntilMs) this.#resolve(claims, coin, market, closedUntilMs)
    if (isContinuous && market.venueMs - closedUntilMs <= LATE_MS_MAX)
      this.#make(claims, coin, market, nowMs)
    return true
  }

  #claimsOf(name: string): CoinClaims {
    let claims = this.#coins.get(name)
    if (claims === undefined) {
      claims = newClaims(name, Number.NaN, [])
      this.#coins.set(name, claims)
    }
    return claims
  }

  #make(claims: CoinClaims, coin: CoinMarket, market: MarketState, nowMs: number): void {
    const { seenUntilMs: atMs } = claims
    const hour = Math.floor(atMs / HOUR_MS)
    const quarter = (atMs - hour * HOUR_MS) / QUARTER_MS
    const drawn: { readonly rule: Rule; readonly item: number }[] = []
    for (const [at, rule] of rules.entries()) {
      if (rule.coins?.includes(coin.listing.coin) === false) continue
      const item = itemOf(rule, claims.drawPrefixes[at] as number, hour, quarter)
      if (item !== null) drawn.push({ rule, item })
    }
    if (drawn.length === 0) return
    const bars = coin.of(recentBars)
    const { coinClass } = bars
    if (coinClass === null || !bars.hasAll(atMs - DAY_MS, atMs)) return
    const dayBars = () => bars.between(atMs - DAY_MS, atMs) ?? []
    const moment: Moment = { coin, market, dayBars, atMs, nowMs }
    const record = market.of(trackRecord)
    const open = [...claims.open]
    for (const { rule, item } of drawn) {
      const key = { rule: rule.id, horizonMs: rule.horizonMs(item), coinClass }
      const stated = open.length < OPEN_MAX ? rule.make(moment, item) : null
      if (stated === null) {
        record.abstained(key, atMs)
        continue
      }
      const claim = { ...key, coin: coin.listing.coin, madeAtMs: atMs, ...rounded(stated) }
      open.push(claim)
      record.made(claim)
    }
    replaceOpen(claims, open)
  }

  #resolve(claims: CoinClaims, coin: CoinMarket, market: MarketState, atMs: number): void {
    const bars = coin.of(recentBars)
    keep(claims, (claim) => {
      if (dueMsOf(claim) > atMs) return true
      const outcome = ruleOf(claim.rule)?.outcome(claim, { coin, market, bars }) ?? null
      if (outcome === null) return true
      this.#add({ ...claim, resolvedAtMs: atMs, outcome }, market)
      return false
    })
  }

  #expire(claims: CoinClaims, market: MarketState): void {
    keep(claims, (claim) => {
      const endMs = claim.madeAtMs + claim.horizonMs + OUTCOME_LATE_MS_MAX
      if (endMs > market.venueMs) return true
      const isDown = market.feed?.state === 'down'
      const reason = this.#restored.has(claim) ? 'restart' : isDown ? 'outage' : 'gap'
      this.#resolveVoid(claim, reason, endMs, market)
      return false
    })
  }

  #resolveVoid(claim: Claim, reason: VoidReason, resolvedAtMs: number, market: MarketState): void {
    this.#add({ ...claim, resolvedAtMs, outcome: { kind: 'void', reason } }, market)
  }

  #add(claim: ResolvedClaim, market: MarketState): void {
    market.of(trackRecord).resolved(claim)
    market.of(unstoredClaims).add(claim)
  }
}

function keep(claims: CoinClaims, isOpen: (claim: Claim) => boolean): void {
  const open = claims.open.filter(isOpen)
  if (open.length < claims.open.length) replaceOpen(claims, open)
}

function replaceOpen(claims: CoinClaims, open: readonly Claim[]): void {
  claims.open = open
  claims.dueMs = firstDueMs(open)
  claims.numbers = null
}

function firstDueMs(open: readonly Claim[]): number {
  return open.reduce(
    (firstMs, claim) => Math.min(firstMs, dueMsOf(claim)),
    Number.POSITIVE_INFINITY,
  )
}

/** After the bar that follows the horizon: until then the last bar of the horizon may be revised. */
function dueMsOf({ madeAtMs, horizonMs }: Claim): number {
  return madeAtMs + horizonMs + QUARTER_MS
}

/** With six significant digits, which are what is recorded: more would fill the disk with digits that say nothing. */
function rounded({ statement, reference }: Stated): Stated {
  return { statement: roundedStatement(statement), reference: reference.map(significant) }
}

function roundedStatement(statement: Statement): Statement {
  switch (statement.form) {
    case 'event': {
      const { form, probability, control } = statement
      return {
        form,
        probability: significant(probability),
        control: control === null ? null : significant(control),
      }
    }
    case 'quantiles': {
      const { form, values, control } = statement
      return { form, values: values.map(significant), control: control.map(significant) }
    }
    case 'rank': {
      const { form, score, control } = statement
      return { form, score: significant(score), control: significant(control) }
    }
    default:
      return statement satisfies never
  }
}

function significant(value: number): number {
  return Number(value.toPrecision(SIGNIFICANT_DIGITS))
}

function newClaims(name: string, seenUntilMs: number, open: readonly Claim[]): CoinClaims {
  const drawPrefixes = Uint32Array.from(rules, ({ id }) => drawPrefix(id, name))
  return { drawPrefixes, seenUntilMs, open, dueMs: firstDueMs(open), numbers: null }
}

/** The drawn item of a rule; null if it makes no claim about the coin in this quarter. */
function itemOf(rule: Rule, prefix: number, hour: number, quarter: number): number | null {
  if (rule.quarter !== undefined && rule.quarter !== quarter) return null
  const draw = drawOf(prefix, hour)
  if (draw === null || (rule.quarter ?? draw.quarter) !== quarter) return null
  return draw.item
}

export const claimKeeper = marketTracker('market/claims', () => new ClaimKeeper())
