import type { Instrument } from './market.ts'
import { bits, gaussian, noiseKey, uniform } from './noise.ts'

/** Accounts that hold positions; the first ones are large, and hold and trade many coins. */
export const HOLDERS = 400
const LARGE = 40
/** Accounts that trade and hold nothing. */
const PASSERS_BY = 400
/** Everybody who trades. Numbers from {@link HOLDERS} on hold nothing. */
export const TRADERS = HOLDERS + PASSERS_BY
/** The liquidator vault: an account after everybody who trades. */
export const LIQUIDATOR = HOLDERS + PASSERS_BY
const PASSERS_BY_SHARE = 0.2

/** Accounts that may hold one coin; one half of them are large. */
export const SLOTS = 32
/** A slot's share of the open interest falls by its place … */
const SHARE_EXPONENT = 0.9
/** … with this standard deviation of its logarithm. */
const SHARE_DEVIATION = 0.5
/** How much more often large holders trade: draws are uniform to this power. */
const TRADE_SKEW = 2

/** One account in this many shares margin between its positions. */
const CROSS_ONE_IN = 3
/** Value of an account that shares margin, as a share of the notional it holds. */
const CROSS_VALUE_MIN = 0.7
const CROSS_VALUE_SPAN = 2
const FREE_USD_MAX = 50_000

const key = noiseKey(0, 'holders')

/** A slot of a coin: who holds it, on which side, how much compared with others, at what leverage. */
export type HolderSlot = {
  readonly account: number
  readonly side: 1 | -1
  readonly weight: number
  readonly leverage: number
  readonly isIsolated: boolean
}

/** Who may hold a coin, the same for good: only how much they hold changes. */
export function slotsOf(instrument: Instrument): readonly HolderSlot[] {
  const { coin, maxLeverage, isStrictlyIsolated } = instrument
  const coinKey = noiseKey(key, coin)
  return Array.from({ length: SLOTS }, (_, slot) => {
    const account = accountOf(coinKey, slot)
    const scatter = Math.exp(SHARE_DEVIATION * gaussian(coinKey ^ 0x21, slot))
    return {
      account,
      side: sideOf(coinKey, slot),
      weight: scatter / (1 + slot) ** SHARE_EXPONENT,
      leverage: leverageOf(coinKey, slot, maxLeverage),
      isIsolated: isStrictlyIsolated || !isCross(account),
    }
  })
}

/** Who is on one side of a trade, by a draw of 32 bits: more often a large holder of the coin. */
export function traderOf(coin: string, draw: number): number {
  if (uniform(draw, 1) < PASSERS_BY_SHARE) return HOLDERS + (bits(draw, 2) % PASSERS_BY)
  const slot = Math.floor(SLOTS * uniform(draw, 3) ** TRADE_SKEW)
  return accountOf(noiseKey(key, coin), slot)
}

/** What an account that shares margin is worth, as a share of the notional that it holds. */
export function crossValueShare(account: number): number {
  return CROSS_VALUE_MIN + CROSS_VALUE_SPAN * uniform(key ^ 0x31, account)
}

/** Balance of an account outside its positions. */
export function freeUsd(account: number): number {
  return Math.floor(FREE_USD_MAX * uniform(key ^ 0x41, account))
}

function isCross(account: number): boolean {
  return bits(key ^ 0x51, account) % CROSS_ONE_IN === 0
}

/** Large and small accounts take turns. Within a coin no account comes twice: steps are coprime. */
function accountOf(coinKey: number, slot: number): number {
  const place = slot >> 1
  const start = bits(coinKey, 1 + (slot & 1))
  if ((slot & 1) === 0) return (start + 7 * place) % LARGE
  return LARGE + ((start + 7 * place) % (HOLDERS - LARGE))
}

/** By chance; the two largest are on different sides. */
function sideOf(coinKey: number, slot: number): 1 | -1 {
  const draw = slot === 1 ? bits(coinKey, 10) + 1 : bits(coinKey, 10 + slot)
  return draw % 2 === 0 ? 1 : -1
}

/** From 1 to the coin's maximum, low ones more often. */
function leverageOf(coinKey: number, slot: number, maxLeverage: number): number {
  return 1 + Math.floor(maxLeverage * uniform(coinKey ^ 0x61, slot) ** 2)
}
