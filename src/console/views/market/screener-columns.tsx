import { sectorOf } from '../../../domain/sectors.ts'
import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import type { Column } from '../../components/data-table.tsx'
import { columnsOf } from '../../components/data-table.tsx'
import type { Tone } from '../../components/figure.tsx'
import { toned, tonedPercent } from '../../components/figure.tsx'
import {
  NOTHING,
  plain,
  price,
  signedBps,
  signedPercent,
  usd,
  word,
} from '../../components/format.ts'
import { changePct } from '../../components/sparkline-path.ts'
import { hrefOf } from '../../shell/router.ts'
import type { ScreenerRow } from './screener-rows.ts'
import { Sparkline } from './sparkline.tsx'

type Closes = readonly (number | null)[]

const tones: Readonly<Record<string, Tone>> = {
  ...{ bullish: 'up', bearish: 'down' },
  ...{ LONG_PAYING: 'warn', SHORT_PAYING: 'warn' },
  ...{ HIGH: 'warn', EXTREME: 'down' },
  ...{ RISING: 'up', FALLING: 'down' },
}

/** @param closes by coin; null where there are none */
export function screenerColumns(
  closes: ReadonlyMap<string, Closes> | null,
  instant: AnswerInstant,
): readonly Column<ScreenerRow>[] {
  const sparkline: Column<ScreenerRow> = {
    ...{
      id: 'day',
      widthRem: 6.2,
      title: '24 closes',
      analysis: 'overview',
      path: 'coins[].closes',
    },
    value: ({ coin }) => changePct(closes?.get(coin) ?? []),
    cell: ({ coin }) => <Sparkline closes={closes?.get(coin) ?? []} />,
  }
  return columnsOf<ScreenerRow>((column) => [
    {
      ...{ id: 'coin', widthRem: 6.3, title: 'Coin', path: 'coins[].coin', isText: true },
      value: ({ coin }) => coin,
      cell: ({ coin }) => <a href={hrefOf('coin', coin)}>{coin}</a>,
    },
    column('price', 'Price', 'coins[].price', price, { widthRem: 5.5 }),
    column('change', '24 h', 'coins[].change_24h_pct', tonedPercent, { widthRem: 5.2 }),
    ...(closes === null ? [] : [sparkline]),
    {
      ...{ id: 'signal', widthRem: 3.6, title: 'Signal', path: 'coins[].signal_strength' },
      value: ({ signal_strength }) => signal_strength,
      cell: ({ signal_strength, confluence_bias }) =>
        toned(tones[confluence_bias] ?? 'plain', plain(signal_strength)),
    },
    column('trend', 'Trend', 'coins[].trend', label, { widthRem: 4, isText: true }),
    column('crowding', 'Funding side', 'coins[].funding_bias', label, {
      widthRem: 6.3,
      isText: true,
    }),
    column(
      'funding',
      'Funding p.a.',
      'coins[].funding_annualized_pct',
      (apr) => signedPercent(apr, 1),
      { widthRem: 6.3 },
    ),
    column('volume', 'Volume', 'coins[].volume_24h_usd', usd, { widthRem: 4.2 }),
    column('interest', 'OI', 'coins[].oi_notional_usd', usd, { widthRem: 4.2 }),
    column('flow', 'OI trend', 'coins[].oi_trend', label, { widthRem: 4.7, isText: true }),
    column('rsi', 'RSI', 'coins[].rsi_14', (rsi) => plain(rsi, 0), { widthRem: 2.4 }),
    column('volatility', 'Volatility', 'coins[].vol_regime', label, {
      widthRem: 4.8,
      isText: true,
    }),
    column('cascade', 'Cascade', 'coins[].cascade_level', label, { widthRem: 4.8, isText: true }),
    column('gap', 'CEX gap', 'coins[].cex_dex_spread_bps', (gap) => signedBps(gap, 1), {
      widthRem: 5,
    }),
    {
      ...{ id: 'sector', widthRem: 6.8, title: 'Sector', isText: true },
      value: ({ coin }) => sectorOf(coin) ?? null,
      cell: ({ coin }) => sectorOf(coin) ?? NOTHING,
    },
    column(
      'age',
      'Age',
      'coins[].data_age_seconds',
      (seconds) => <Age seconds={seconds} instant={instant} />,
      { widthRem: 3.6 },
    ),
  ])
}

function label(text: string | null | undefined) {
  return toned(tones[text ?? ''] ?? 'plain', word(text))
}
