import type { Instrument } from '../market/market.ts'
import { drift, noiseKey } from '../market/noise.ts'
import { decimalText, priceDecimalsMax, roundPrice } from '../market/precision.ts'
import { hexText } from './hex.ts'

const HOUR_MS = 3_600_000
const PRICE_SIZE_DECIMALS = 0
const OUTCOME_DECIMALS = 4

type Token = readonly [
  name: string,
  sizeDecimals: number,
  weiDecimals: number,
  isCanonical: boolean,
]

/** A spot pair stands at the price of a perpetual, or wanders around one of its own. */
type Pair = {
  readonly name: string
  readonly index: number
  readonly base: number
  readonly quote: number
  readonly perpetual?: string
  readonly priceUsd?: number
  /** Turnover of a day, USDC; nothing where absent. */
  readonly dayNotionalUsd?: number
}

type SpotContextWire = { readonly coin: string; readonly [member: string]: string }

/** A token's index is its position: clients look it up by either. */
const tokens: readonly Token[] = [
  ['USDC', 8, 8, true],
  ['PURR', 0, 5, true],
  ['HFUN', 2, 8, false],
  ['LICK', 0, 5, false],
  ['HYPE', 2, 8, false],
  ['USDE', 2, 8, false],
  ['USDH', 2, 8, false],
]

const pairs: readonly Pair[] = [
  { name: 'PURR/USDC', index: 0, base: 1, quote: 0, perpetual: 'PURR' },
  { name: '@1', index: 1, base: 2, quote: 0, priceUsd: 13.69 },
  { name: '@2', index: 2, base: 3, quote: 0, priceUsd: 0.0512 },
  { name: '@107', index: 107, base: 4, quote: 0, perpetual: 'HYPE' },
  // What the collateral of a builder's dex is worth. USDE, that of another one, is traded nowhere here.
  { name: '@230', index: 230, base: 6, quote: 0, priceUsd: 1, dayNotionalUsd: 3_100_000 },
]

/** Markets of yes and no, between 0 and 1. */
const outcomes = ['#0', '#1', '#10', '#11', '#40'] as const

export const spotMetaWire = {
  universe: pairs.map(({ name, index, base, quote }) => ({
    tokens: [base, quote],
    name,
    index,
    isCanonical: !name.startsWith('@'),
  })),
  tokens: tokens.map(tokenWire),
} as const

export function isSpotPair(name: string): boolean {
  return pairs.some((pair) => pair.name === name)
}

/** What the empty book of a pair is written with; undefined for what is none. */
export function spotInstrument(
  name: string,
): Pick<Instrument, 'coin' | 'sizeDecimals'> | undefined {
  const pair = pairs.find((candidate) => candidate.name === name)
  const [, sizeDecimals] = tokens[pair?.base ?? -1] ?? []
  return sizeDecimals === undefined ? undefined : { coin: name, sizeDecimals }
}

/** Names of the spot pairs that stand at the price of a perpetual. */
export function spotNamesOf(perpetual: string): readonly string[] {
  return namesByPerpetual.get(perpetual) ?? []
}

const namesByPerpetual: ReadonlyMap<string, readonly string[]> = new Map(
  pairs.flatMap(({ name, perpetual }) => (perpetual === undefined ? [] : [[perpetual, [name]]])),
)

/** Mids of the spot pairs and outcome markets that follow no perpetual. */
export function externalMids(atMs: number): Readonly<Record<string, string>> {
  const mids: Record<string, string> = {}
  for (const { name, priceUsd } of pairs) {
    if (priceUsd !== undefined) mids[name] = wandering(name, priceUsd, atMs)
  }
  for (const name of outcomes) {
    const share = 0.5 + 0.45 * drift(noiseKey(0, name), atMs / HOUR_MS)
    mids[name] = decimalText(share, OUTCOME_DECIMALS)
  }
  return mids
}

/** Contexts of all pairs, in the order of `spotMeta`. */
export function spotContextsWire(
  midOf: (perpetual: string) => string | undefined,
  atMs: number,
): readonly SpotContextWire[] {
  const external = externalMids(atMs)
  return pairs.map(({ name, perpetual, dayNotionalUsd = 0 }) => {
    const px = (perpetual === undefined ? external[name] : midOf(perpetual)) ?? '1.0'
    return {
      prevDayPx: px,
      dayNtlVlm: decimalText(dayNotionalUsd, 1),
      markPx: px,
      midPx: px,
      circulatingSupply: '0.0',
      coin: name,
      totalSupply: '0.0',
      dayBaseVlm: '0.0',
    }
  })
}

function wandering(name: string, priceUsd: number, atMs: number): string {
  const moved = priceUsd * (1 + 0.02 * drift(noiseKey(0, name), atMs / HOUR_MS))
  const price = roundPrice(moved, PRICE_SIZE_DECIMALS)
  return decimalText(price, priceDecimalsMax(PRICE_SIZE_DECIMALS))
}

function tokenWire([name, szDecimals, weiDecimals, isCanonical]: Token, index: number): object {
  return {
    name,
    szDecimals,
    weiDecimals,
    index,
    tokenId: `0x${hexText(noiseKey(index, name), 32)}`,
    isCanonical,
    evmContract: null,
    fullName: null,
    deployerTradingFeeShare: '0.0',
  }
}
