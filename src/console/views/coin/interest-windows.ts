import type { AnswerOf } from '../../live/use-document.ts'

type InterestWindow = {
  readonly window: string
  readonly contractsPct: number | null
  readonly notionalPct: number | null
  readonly pricePct: number | null
}

/** Changes by window, shortest first. */
export function interestWindows(oi: AnswerOf<'oi'>['oi']): readonly InterestWindow[] {
  return [
    {
      window: '5 min',
      contractsPct: oi.delta_5m_pct,
      notionalPct: oi.notional_delta_5m_pct,
      pricePct: oi.price_change_5m_pct,
    },
    {
      window: '1 h',
      contractsPct: oi.delta_1h,
      notionalPct: oi.notional_delta_1h_pct,
      pricePct: oi.price_change_1h,
    },
    {
      window: '4 h',
      contractsPct: oi.delta_4h,
      notionalPct: oi.notional_delta_4h_pct,
      pricePct: oi.price_change_4h,
    },
    {
      window: '24 h',
      contractsPct: oi.delta_24h,
      notionalPct: oi.notional_delta_24h_pct,
      pricePct: oi.price_change_24h,
    },
    {
      window: '7 d',
      contractsPct: oi.delta_7d_pct,
      notionalPct: oi.notional_delta_7d_pct,
      pricePct: oi.price_change_7d_pct,
    },
  ]
}
