import { hourlyAtrPct } from '../../liquidation/cascade.ts'
import { regimeTracker } from '../../regime/regime.ts'
import { compositeOf } from '../../regime/regime-rule.ts'
import type { Rule } from '../rule.ts'
import { DAY_MS } from '../rule.ts'
import { realisedVolatility } from './volatility.ts'

/**
 * The regime of the market ranks BTC's realised volatility over the next 24 hours: the less risk the market takes, the
 * higher. The control is BTC's ATR alone, percent.
 */
export const regimeRule: Rule = {
  id: 'regime.risk@2',
  form: 'rank',
  coins: ['BTC'],
  horizonMs: () => DAY_MS,
  make({ coin, market, nowMs }) {
    const drivers = market.of(regimeTracker).current(nowMs)?.drivers ?? null
    const atrPct = hourlyAtrPct(coin)
    if (drivers === null || atrPct === null) return null
    const score = -compositeOf(drivers)
    return { statement: { form: 'rank', score, control: atrPct }, reference: [] }
  },
  outcome: realisedVolatility,
}
