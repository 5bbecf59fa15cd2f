import { quantileLevels } from '../../../domain/track-record.ts'
import { ORDER_NOTIONALS_USD } from '../../execution/first-costs.ts'
import { sideOf, tradeCosts } from '../../execution/trade-costs.ts'
import type { Rule } from '../rule.ts'

const HORIZON_MS = 900_000
/** Whole books arrive every 5.4 s. */
const BOOK_AGE_MS_MAX = 6_000

/**
 * Quantiles of what the first execution of about an order's size pays within 15 minutes, bps of the mid before it: the
 * walked book with the errors of the coin's last estimates. The control is the square-root law with the coefficients of
 * the same executions. Direction and size are drawn, the size from those that were traded in the last two hours.
 */
export const slippageRule: Rule = {
  id: 'slippage.walk@2',
  form: 'quantiles',
  horizonMs: () => HORIZON_MS,
  make({ coin, atMs, nowMs }, item) {
    const costs = coin.of(tradeCosts)
    const direction = item % 2 === 0 ? 1 : -1
    const sizes = costs.firstCosts.sizesSeen(direction, atMs)
    const size = sizes[Math.floor(item / 2) % sizes.length]
    const { book } = coin
    if (size === undefined || book === null || nowMs - book.timeReceivedMs > BOOK_AGE_MS_MAX)
      return null
    const side = sideOf(book, direction)
    const notional = ORDER_NOTIONALS_USD[size]
    if (side === null || notional === undefined) return null
    const quantiles = costs.costQuantiles(side, notional, quantileLevels)
    if (quantiles === null) return null
    const { byBook: values, byRootLaw: control } = quantiles
    return { statement: { form: 'quantiles', values, control }, reference: [direction, size] }
  },
  outcome({ madeAtMs, reference: [direction = 0, size = -1] }, { coin }) {
    const paidBps = coin.of(tradeCosts).firstCosts.at(madeAtMs, direction === 1 ? 1 : -1, size)
    if (Number.isFinite(paidBps)) return { kind: 'value', value: paidBps }
    return { kind: 'void', reason: Number.isNaN(paidBps) ? 'no_trade' : 'gap' }
  },
}
