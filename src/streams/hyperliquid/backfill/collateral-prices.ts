import type { Observable } from 'rxjs'
import { defer, map } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { FeedParts } from './feed-parts.ts'
import { accepted } from './feed-parts.ts'

/** Requests the prices of collateral tokens. Fails without a valid reply. */
export function collateralPrices({
  collaterals,
  dexRegister,
  info,
  ingest,
  runtime,
}: FeedParts): Observable<Batch> {
  const { scheduler } = runtime
  return defer(() => {
    collaterals.asked(scheduler.now())
    return info.ask(() => ({ type: 'spotMetaAndAssetCtxs' }))
  }).pipe(
    map((reply) => {
      const arrival = { kind: 'spot', ...reply } as const
      const { batch, tokens } = accepted(ingest.process(arrival, scheduler.now()))
      dexRegister.notePrices(tokens)
      return batch
    }),
  )
}
