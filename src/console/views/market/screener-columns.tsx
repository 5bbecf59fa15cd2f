import type { ComponentChildren } from 'preact'
import { sectorOf } from '../../../domain/sectors.ts'
import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import type { Column } from '../../components/data-table.tsx'
import type { Tone } from '../../components/figure.tsx'
import { toneOf } from '../../components/figure.tsx'
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
      widthRem: 6,
      title: '24 closes',
      analysis: 'overview',
      path: 'coins[].closes',
    },
    value: ({ coin }) => changePct(closes?.get(coin) ?? []),
    cell: ({ coin }) => <Sparkline closes={closes?.get(coin) ?? []} />,
  }
  return [
    {
      ...{ id: 'coin', widthRem: 6.5, title: 'Coin', path: 'coins[].coin', isText: true },
      value: ({ coin }) => coin,
      cell: ({ coin }) => <a href={hrefOf('coin', coin)}>{coin}</a>,
    },
    {
      ...{ id: 'price', widthRem: 5, title: 'Price', path: 'coins[].price' },
      value: (row) => row.price,
      cell: (row) => price(row.price),
    },
    {
      ...{ id: 'change', widthRem: 4.2, title: '24 h', path: 'coins[].change_24h_pct' },
      value: ({ change_24h_pct }) => change_24h_pct,
      cell: ({ change_24h_pct: change }) => toned(toneOf(change), signedPercent(change)),
    },
    ...(closes === null ? [] : [sparkline]),
    {
      ...{ id: 'signal', widthRem: 3.8, title: 'Signal', path: 'coins[].signal_strength' },
      value: ({ signal_strength }) => signal_strength,
      cell: ({ signal_strength, confluence_bias }) =>
        toned(tones[confluence_bias] ?? 'plain', plain(signal_strength)),
    },
    labelled(
      { id: 'trend', widthRem: 4.2, title: 'Trend', path: 'coins[].trend' },
      ({ trend }) => trend,
    ),
    labelled(
      { id: 'crowding', widthRem: 6, title: 'Funding side', path: 'coins[].funding_bias' },
      (row) => row.funding_bias,
    ),
    {
      ...{
        id: 'funding',
        widthRem: 5.6,
        title: 'Funding p.a.',
        path: 'coins[].funding_annualized_pct',
      },
      value: (row) => row.funding_annualized_pct ?? null,
      cell: (row) => signedPercent(row.funding_annualized_pct, 1),
    },
    {
      ...{ id: 'volume', widthRem: 4.4, title: 'Volume', path: 'coins[].volume_24h_usd' },
      value: ({ volume_24h_usd }) => volume_24h_usd ?? null,
      cell: ({ volume_24h_usd }) => usd(volume_24h_usd),
    },
    {
      ...{ id: 'interest', widthRem: 4.4, title: 'OI', path: 'coins[].oi_notional_usd' },
      value: ({ oi_notional_usd }) => oi_notional_usd ?? null,
      cell: ({ oi_notional_usd }) => usd(oi_notional_usd),
    },
    labelled(
      { id: 'flow', widthRem: 4.8, title: 'OI trend', path: 'coins[].oi_trend' },
      ({ oi_trend }) => oi_trend,
    ),
    {
      ...{ id: 'rsi', widthRem: 2.6, title: 'RSI', path: 'coins[].rsi_14' },
      value: ({ rsi_14 }) => rsi_14 ?? null,
      cell: ({ rsi_14 }) => plain(rsi_14, 0),
    },
    labelled(
      { id: 'volatility', widthRem: 4.8, title: 'Volatility', path: 'coins[].vol_regime' },
      ({ vol_regime }) => vol_regime,
    ),
    labelled(
      { id: 'cascade', widthRem: 5, title: 'Cascade', path: 'coins[].cascade_level' },
      ({ cascade_level }) => cascade_level,
    ),
    {
      ...{ id: 'gap', widthRem: 4.8, title: 'CEX gap', path: 'coins[].cex_dex_spread_bps' },
      value: ({ cex_dex_spread_bps }) => cex_dex_spread_bps ?? null,
      cell: ({ cex_dex_spread_bps }) => signedBps(cex_dex_spread_bps, 1),
    },
    {
      ...{ id: 'sector', widthRem: 6, title: 'Sector', isText: true },
      value: ({ coin }) => sectorOf(coin) ?? null,
      cell: ({ coin }) => sectorOf(coin) ?? NOTHING,
    },
    {
      ...{ id: 'age', widthRem: 3.4, title: 'Age', path: 'coins[].data_age_seconds' },
      value: ({ data_age_seconds }) => data_age_seconds ?? null,
      cell: ({ data_age_seconds }) => <Age seconds={data_age_seconds} instant={instant} />,
    },
  ]
}

function labelled(
  head: Pick<Column<ScreenerRow>, 'id' | 'title' | 'path' | 'widthRem'>,
  label: (row: ScreenerRow) => string | null | undefined,
): Column<ScreenerRow> {
  return {
    ...head,
    isText: true,
    value: (row) => label(row) ?? null,
    cell: (row) => toned(tones[label(row) ?? ''] ?? 'plain', word(label(row))),
  }
}

function toned(tone: Tone, text: string): ComponentChildren {
  return tone === 'plain' ? text : <span class={`tone-${tone}`}>{text}</span>
}
