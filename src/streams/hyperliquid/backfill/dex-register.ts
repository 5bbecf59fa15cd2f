import assert from 'node:assert/strict'
import type { DexSelection, DexStatus } from '../../../domain/dex.ts'
import type { TokenPrice } from '../../../domain/event.ts'
import { LISTINGS_MAX, USDC_TOKEN } from '../../../domain/listing.ts'
import { LISTINGS_OF_MAIN } from '../plausibility/universe-cache.ts'
import type { SubscriptionPlan } from '../session/subscription-plan.ts'
import type { ListedDex } from '../wire/dexes.ts'
import type { MetaAndContextsReply } from '../wire/universe.ts'
import { MAIN_DEX } from '../wire/universe.ts'
import type { DexFigures, DexVerdict } from './dex-choice.ts'
import { chosenDexes } from './dex-choice.ts'
import { coinsByWeight } from './weight-budget.ts'

/** Figures of one dex, in its collateral. */
type Measured = Omit<DexFigures, 'usdPerUnit'> & { readonly token: number }

export type Judgement = {
  readonly joined: readonly string[]
  readonly dropped: readonly string[]
  /** A decision needs confirmation: one judgement alone drops no dex. */
  readonly isOpen: boolean
}

/** What a feed may use of the venue: coins by its subscriptions, and REST weight. */
type FeedLimits = { readonly coinsMax: number; readonly weightPerMinute: number }

/** The followed builder-deployed dexes, the figures of all dexes, and the reasons against the others. */
export class DexRegister {
  readonly #selection: DexSelection
  readonly #limits: FeedLimits
  readonly #followed: Set<string>
  #listed: readonly ListedDex[] = []
  /** The last figures of each dex, including the main dex. */
  readonly #measured = new Map<string, Measured>()
  readonly #tokens = new Map<number, TokenPrice>()
  #verdicts: ReadonlyMap<string, DexVerdict> = new Map()
  /** Followed dexes that the last judgement rejected. */
  #waning: ReadonlySet<string> = new Set()
  #judgedAtMs: number | null = null

  /** @param known dexes that the engine followed; they stay until the first judgement */
  constructor(selection: DexSelection, limits: FeedLimits, known: Iterable<string>) {
    this.#selection = selection
    this.#limits = limits
    this.#followed = new Set(selection === 'auto' ? known : [])
  }

  get selection(): DexSelection {
    return this.#selection
  }

  get followed(): readonly string[] {
    return [...this.#followed]
  }

  /** Names of all dexes of the venue. */
  get listed(): readonly string[] {
    return this.#listed.map(({ name }) => name)
  }

  follows(name: string): boolean {
    return this.#followed.has(name)
  }

  follow(name: string): void {
    this.#followed.add(name)
  }

  /** Sets the builder-deployed dexes of the venue. */
  list(dexes: readonly ListedDex[]): void {
    this.#listed = dexes
  }

  notePrices(tokens: readonly TokenPrice[]): void {
    for (const price of tokens) this.#tokens.set(price.token, price)
  }

  note(dex: string, { universe, contexts }: MetaAndContextsReply): void {
    const alive = universe.filter((listing) => listing !== null && !listing.isDelisted)
    const coins = new Set(alive.map((listing) => listing?.coin))
    const ofAlive = contexts.filter(({ coin }) => coins.has(coin))
    this.#measured.set(dex, {
      openInterest: ofAlive.reduce((sum, one) => sum + one.openInterestBase * one.markPrice, 0),
      dayNotional: ofAlive.reduce((sum, { dayNotional }) => sum + dayNotional, 0),
      liveCoins: alive.length,
      listedCoins: universe.length,
      token: universe.find((listing) => listing !== null)?.collateralToken ?? USDC_TOKEN,
    })
  }

  /** Requires the figures of the main dex, with which the others are compared. */
  judge(nowMs: number): Judgement {
    const main = this.#figuresOf(MAIN_DEX)
    assert(main !== null, 'the main dex was noted')
    const verdicts = chosenDexes(
      main,
      new Map(this.listed.map((name) => [name, this.#figuresOf(name)])),
      this.#followed,
      {
        bySubscriptions: this.#limits.coinsMax - main.liveCoins,
        byWeight: coinsByWeight(this.#limits.weightPerMinute) - main.liveCoins,
        byListings: LISTINGS_MAX - Math.max(LISTINGS_OF_MAIN, main.listedCoins),
      },
    )
    this.#verdicts = new Map(verdicts.map((verdict) => [verdict.name, verdict]))
    this.#judgedAtMs = nowMs
    const chosen = verdicts.flatMap(({ name, reason }) => (reason === null ? [name] : []))
    // A dex that is no longer listed has no verdict.
    const against = this.followed.filter((name) => !chosen.includes(name))
    const dropped = against.filter((name) => this.#waning.has(name))
    const joined = chosen.filter((name) => !this.#followed.has(name))
    for (const name of dropped) this.#followed.delete(name)
    for (const name of joined) this.#followed.add(name)
    this.#waning = new Set(against.filter((name) => !dropped.includes(name)))
    return { joined, dropped, isOpen: this.#waning.size > 0 }
  }

  /** All dexes that the venue lists or the operator selected. */
  statuses(plan: SubscriptionPlan): readonly DexStatus[] {
    const listed = new Map(this.#listed.map((dex) => [dex.name, dex.fullName]))
    const names = new Set([...listed.keys(), ...this.#followed])
    return Array.from(names, (name) => this.#statusOf(name, listed.get(name) ?? null, plan))
  }

  #statusOf(name: string, fullName: string | null, plan: SubscriptionPlan): DexStatus {
    const verdict = this.#verdicts.get(name)
    const measured = this.#measured.get(name)
    const isFollowed = this.#followed.has(name)
    const { alive, leftOut } = plan.countsOf(name)
    const share = verdict?.share ?? null
    return {
      name,
      fullName,
      isFollowed,
      reason: isFollowed ? null : (verdict?.reason ?? 'not_selected'),
      sharePct: share === null ? null : 100 * share,
      quoteUnit: measured === undefined ? null : this.#unitOf(measured.token),
      coins: isFollowed && alive > 0 ? alive : (measured?.liveCoins ?? null),
      coinsLeftOut: leftOut,
      judgedAtMs: verdict === undefined ? null : this.#judgedAtMs,
    }
  }

  #figuresOf(dex: string): DexFigures | null {
    const measured = this.#measured.get(dex)
    if (measured === undefined) return null
    const { token, ...figures } = measured
    const usdPerUnit = token === USDC_TOKEN ? 1 : (this.#tokens.get(token)?.usdcPrice ?? Number.NaN)
    return { ...figures, usdPerUnit }
  }

  #unitOf(token: number): string | null {
    return token === USDC_TOKEN ? 'USDC' : (this.#tokens.get(token)?.name ?? null)
  }
}
