import type { DecodedReply } from '../polled-source.ts'
import { undecodableReply } from '../polled-source.ts'
import { ownMember, parseUntrusted, untrustedList } from '../untrusted-json.ts'

/** The reply is 1.5 MB. */
const BODY_CHARS_MAX = 8 * 1024 * 1024
const ROWS_MAX = 5_000
const SUPPLY_USD_MIN = 1e6
const SUPPLY_USD_MAX = 1e13
/** A larger change within a week is an error of the source. */
const WEEKLY_FACTOR_MAX = 10

const ASSET = 'USDC'
/** DefiLlama's identifier: several tokens share the symbol. */
const ID = '2'

/**
 * `{peggedAssets: [{id, symbol, circulating: {peggedUSD}, circulatingPrevDay, circulatingPrevWeek}]}`.
 * The figures count tokens. They carry no time, so the receive time is used.
 */
export function decodeSupply(body: string, nowMs: number): DecodedReply {
  const reply = parseUntrusted(body, BODY_CHARS_MAX)
  const row = untrustedList(ownMember(reply, 'peggedAssets'), ROWS_MAX).find(
    (one) => ownMember(one, 'id') === ID,
  )
  const supplyUsd = suppliedUsd(row, 'circulating')
  if (ownMember(row, 'symbol') !== ASSET || supplyUsd === null) return undecodableReply(body)
  const earlier = (member: string) => {
    const earlierUsd = suppliedUsd(row, member)
    const factor = (earlierUsd ?? 0) / supplyUsd
    return factor <= WEEKLY_FACTOR_MAX && factor >= 1 / WEEKLY_FACTOR_MAX ? earlierUsd : null
  }
  return {
    events: [
      {
        kind: 'stablecoin-supply',
        asset: ASSET,
        supplyUsd,
        dayAgoUsd: earlier('circulatingPrevDay'),
        weekAgoUsd: earlier('circulatingPrevWeek'),
        timeExchangeMs: nowMs,
        timeReceivedMs: nowMs,
      },
    ],
    issues: [],
  }
}

function suppliedUsd(row: unknown, member: string): number | null {
  const usd = ownMember(ownMember(row, member), 'peggedUSD')
  return typeof usd === 'number' && usd >= SUPPLY_USD_MIN && usd <= SUPPLY_USD_MAX ? usd : null
}
