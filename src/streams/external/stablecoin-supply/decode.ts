import { foreignList, ownMember, parseForeign } from '../foreign-json.ts'
import type { Decoded } from '../polled-source.ts'

/** All stablecoins with their chains have 1.5 MB. */
const BODY_CHARS_MAX = 8 * 1024 * 1024
const ROWS_MAX = 5_000
const SUPPLY_USD_MIN = 1e6
const SUPPLY_USD_MAX = 1e13
/** Within a week no supply grows or shrinks by more: it is another unit, or a fault. */
const WEEKLY_FACTOR_MAX = 10

const ASSET = 'USDC'
/** By DefiLlama's own number: names and symbols are chosen by whoever issues. */
const ID = '2'

/**
 * `{peggedAssets: [{id, symbol, circulating: {peggedUSD}, circulatingPrevDay, circulatingPrevWeek}]}`.
 * The figures count tokens, which at par is USD. They carry no time, so ours stands for it.
 */
export function decodeSupply(body: string, nowMs: number): Decoded {
  const reply = parseForeign(body, BODY_CHARS_MAX)
  const row = foreignList(ownMember(reply, 'peggedAssets'), ROWS_MAX).find(
    (one) => ownMember(one, 'id') === ID,
  )
  const supplyUsd = suppliedUsd(row, 'circulating')
  if (ownMember(row, 'symbol') !== ASSET || supplyUsd === null)
    return { events: [], findings: [{ kind: 'undecodable', detail: body.slice(0, 200) }] }
  const before = (name: string) => {
    const beforeUsd = suppliedUsd(row, name)
    const factor = (beforeUsd ?? 0) / supplyUsd
    return factor <= WEEKLY_FACTOR_MAX && factor >= 1 / WEEKLY_FACTOR_MAX ? beforeUsd : null
  }
  return {
    events: [
      {
        kind: 'stablecoin-supply',
        asset: ASSET,
        supplyUsd,
        dayAgoUsd: before('circulatingPrevDay'),
        weekAgoUsd: before('circulatingPrevWeek'),
        timeExchangeMs: nowMs,
        timeReceivedMs: nowMs,
      },
    ],
    findings: [],
  }
}

function suppliedUsd(row: unknown, name: string): number | null {
  const usd = ownMember(ownMember(row, name), 'peggedUSD')
  return typeof usd === 'number' && usd >= SUPPLY_USD_MIN && usd <= SUPPLY_USD_MAX ? usd : null
}
