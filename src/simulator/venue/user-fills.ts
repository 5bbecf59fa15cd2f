import type { EnforcedTrade } from '../market/enforced-trades.ts'
import type { Instrument, Trade } from '../market/market.ts'
import type { Dexes } from './dexes.ts'
import { enforcedFillWire, fillWire } from './fill-wire.ts'
import type { InfoAnswer, VenueInstant } from './info-answer.ts'
import { data, MALFORMED, withoutNulls } from './info-answer.ts'
import { isUser } from './subscription.ts'
import { traderAt } from './traders.ts'
import { partiesOf } from './wire.ts'

const FILLS_MAX = 2_000
const ROWS_A_WEIGHT = 20

/** The reply to `userFillsByTime`: the oldest fills of a time, on the main dex. */
export function userFillsAnswer(
  dexes: Dexes,
  body: Readonly<Record<string, unknown>>,
  { atMs }: VenueInstant,
): InfoAnswer {
  const { user, startTime, endTime } = withoutNulls(body, { endTime: atMs })
  if (!isUser(user) || typeof startTime !== 'number' || typeof endTime !== 'number')
    return MALFORMED
  const account = traderAt(user)
  if (account === undefined) return data([])
  const untilMs = Math.min(endTime, atMs)
  const rows = dexes.accounts
    .coinsOf(account)
    .flatMap((coin) => rowsOf(dexes, coin, account, startTime, untilMs))
    .toSorted((one, other) => one.timeMs - other.timeMs)
    .slice(0, FILLS_MAX)
  return data(
    rows.map(({ wire }) => wire),
    Math.floor(rows.length / ROWS_A_WEIGHT),
  )
}

type Row = { readonly timeMs: number; readonly wire: object }

function rowsOf(
  { accounts, main }: Dexes,
  coin: string,
  account: number,
  fromMs: number,
  untilMs: number,
): readonly Row[] {
  const instrument = main.market.instrument(coin)
  if (instrument === undefined) return []
  const enforced = new Map<number, EnforcedTrade>(
    accounts.enforcedTrades(coin, fromMs - 1, untilMs).map((trade) => [trade.id, trade]),
  )
  return main.market.trades(coin, fromMs - 1, untilMs).flatMap((trade): readonly Row[] => {
    const { taker, maker } = partiesOf(trade, coin)
    if (account !== taker && account !== maker) return []
    const { timeMs } = trade
    const own = enforced.get(trade.id)
    const wire =
      own === undefined
        ? ordinaryFill(trade, account === taker, instrument)
        : enforcedFillWire(own, account, instrument)
    return [{ timeMs, wire }]
  })
}

/** The model moves positions by the minute and not by the trade, so an ordinary fill opens from nothing. */
function ordinaryFill(trade: Trade, isTaker: boolean, instrument: Instrument): object {
  const isBuy = (trade.side === 'B') === isTaker
  const dir = isBuy ? 'Open Long' : 'Open Short'
  return fillWire(trade, { isTaker, startBase: 0, dir }, instrument)
}
