import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { FundingRow } from '../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../domain/history.ts'

const SHARED_COINS = join(import.meta.dirname, '../../../../shared/data/hl-candles-2025-07/coins')

export const hasSharedFundings = existsSync(SHARED_COINS)

/** Coins whose funding was recorded; none where `hasSharedFundings` is false. */
export const fundedCoins: readonly string[] = hasSharedFundings ? readdirSync(SHARED_COINS) : []

/** Settled rows of the venue, ascending, at their whole hours. */
export function sharedFundings(coin: string): FundingRow[] {
  const text = gunzipSync(readFileSync(join(SHARED_COINS, coin, 'funding_1h.csv.gz'))).toString(
    'utf8',
  )
  const [, ...lines] = text.trim().split('\n')
  return lines.map((line) => {
    const [landedMs = Number.NaN, rateHourly = Number.NaN] = line.split(',').map(Number)
    const timeMs = Math.floor(landedMs / FUNDING_STEP_MS) * FUNDING_STEP_MS
    return { coin, timeMs, rateHourly, premium: null, isSettled: true }
  })
}
