import type { BuilderDex } from '../market/builder-dexes.ts'
import type { Market } from '../market/market.ts'
import { noiseKey, uniform } from '../market/noise.ts'
import { decimalText } from '../market/precision.ts'
import type { SimulatedDex } from './dexes.ts'
import { hexText } from './hex.ts'

const ADDRESS_DIGITS = 40
const FRACTION_DECIMALS = 10
/** A builder's coin may have this many days' trading as open interest, at least as much as below. */
const CAP_DAYS = 10
const CAP_USD_MIN = 1_000_000
const CAP_STEP_USD = 1_000_000
const OI_SIZE_CAP = '100000000000.0'
const TRANSFER_USD_MAX = '1000000000.0'
const DEPOSITS_OF_MAIN = 4_100_000_000
/** One coin in this many has no room for more open interest. */
const COINS_A_CAPPED = 60

/** A dex as `perpDexs` lists it. */
export function perpDexWire(dex: BuilderDex, atMs: number): object {
  const coins = dex.market.universe().map(({ coin }) => coin)
  const address = (what: string): string =>
    `0x${hexText(noiseKey(0, dex.name, what), ADDRESS_DIGITS)}`
  return {
    name: dex.name,
    fullName: dex.fullName,
    deployer: address('deployer'),
    oracleUpdater: null,
    feeRecipient: address('fees'),
    assetToStreamingOiCap: capsOf(dex, atMs),
    subDeployers: [['setOracle', [address('oracle')]]],
    deployerFeeScale: '1.0',
    lastDeployerFeeScaleChangeTime: '1970-01-01T00:00:00',
    assetToFundingMultiplier: coins.map((coin) => [coin, decimalText(dex.fundingMultiplier, 4)]),
    assetToFundingInterestRate: [],
    assetToFundingClamp: [],
  }
}

/** null for the main dex, which has no limits of this kind. */
export function perpDexLimitsWire({ builder }: SimulatedDex, atMs: number): object | null {
  if (builder === undefined) return null
  const caps = capsOf(builder, atMs)
  const totalUsd = caps.reduce((sum, [, capUsd]) => sum + Number(capUsd), 0)
  return {
    totalOiCap: decimalText(totalUsd, 1),
    oiSzCapPerPerp: OI_SIZE_CAP,
    maxTransferNtl: TRANSFER_USD_MAX,
    coinToOiCap: caps,
  }
}

export function perpDexStatusWire({ market, builder }: SimulatedDex, atMs: number): object {
  const depositsUsd =
    builder === undefined
      ? DEPOSITS_OF_MAIN
      : market.universe().reduce((sum, { coin }) => sum + openInterestUsd(market, coin, atMs), 0)
  return { totalNetDeposit: decimalText(depositsUsd, FRACTION_DECIMALS) }
}

/** Names of the coins whose open interest may not grow. */
export function coinsAtCap({ market }: SimulatedDex): readonly string[] {
  return market
    .universe()
    .filter(({ isDelisted }) => !isDelisted)
    .map(({ coin }) => coin)
    .filter((coin) => uniform(noiseKey(0, 'cap', coin), 0) * COINS_A_CAPPED < 1)
}

function capsOf(
  { market }: BuilderDex,
  atMs: number,
): readonly (readonly [coin: string, usd: string])[] {
  return market.universe().map(({ coin }) => {
    const usd = Math.max(CAP_USD_MIN, CAP_DAYS * openInterestUsd(market, coin, atMs))
    return [coin, decimalText(Math.ceil(usd / CAP_STEP_USD) * CAP_STEP_USD, 1)]
  })
}

function openInterestUsd(market: Market, coin: string, atMs: number): number {
  const context = market.context(coin, atMs)
  return context === undefined ? 0 : context.openInterestBase * context.markPrice
}
