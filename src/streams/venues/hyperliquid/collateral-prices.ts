import type { Observable } from 'rxjs'
import { defer, map } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { FeedParts } from './feed-parts.ts'
import { accepted } from './feed-parts.ts'

/** A fiftieth of the weight that we plan with, and only where some dex is not in USDC. */
const PERIOD_MS = 60_000

/** When spot prices are to be asked for again. */
export class CollateralRefresh {
  #nextMs = Number.NEGATIVE_INFINITY

  isDue(nowMs: number): boolean {
    return nowMs >= this.#nextMs
  }

  asked(nowMs: number): void {
    this.#nextMs = nowMs + PERIOD_MS
  }
}

/** What collateral is worth now. Fails where the venue does not answer, or nothing that can be read. */
export function collateralPrices({
  collaterals,
  dexBook,
  info,
  intake,
  runtime,
}: FeedParts): Observable<Batch> {
  const { scheduler } = runtime
  return defer(() => {
    collaterals.asked(scheduler.now())
    return info.ask(() => ({ type: 'spotMetaAndAssetCtxs' }))
  }).pipe(
    map((reply) => {
      const { batch, tokens } = accepted(intake.spot(reply, scheduler.now()))
      dexBook.notePrices(tokens)
      return batch
    }),
  )
}
