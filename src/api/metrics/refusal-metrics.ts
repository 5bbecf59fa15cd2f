import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import type { SalesCounts } from '../desk/sales-counts.ts'

/** Codes of ours and of x402; the free text of a facilitator is no label. */
const CODE = /^[a-z0-9_]{1,64}$/
const OTHER = 'other'

/** Refused calls of analyses and refused payments by reason. `counts` bounds the number of reasons. */
export function measureRefusals(metrics: Registry, counts: Pick<SalesCounts, 'refusals'>): void {
  new Counter({
    name: 'perpscope_refusals_total',
    help: 'Refused calls of analyses and refused payments, by error code or by reason of the payment.',
    labelNames: ['reason'],
    registers: [metrics],
    collect() {
      this.reset()
      for (const { reason, count } of counts.refusals())
        this.inc({ reason: CODE.test(reason) ? reason : OTHER }, count)
    },
  })
}
