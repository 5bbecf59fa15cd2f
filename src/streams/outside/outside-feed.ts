import type { Observable } from 'rxjs'
import { merge } from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { SourceId } from '../../domain/outside.ts'
import type { OutsideRuntime } from '../runtime.ts'
import type { Source, SourceAddress, SourceContext } from './source.ts'

/** Who listens to which source. One that comes along with another, such as Chainlink with its chains, has none of its own. */
export const sources: Partial<Record<SourceId, Source>> = {}

/** Everything beyond the venue that has an address. */
export function outsideFeed(
  addresses: Partial<Readonly<Record<SourceId, SourceAddress>>>,
  context: SourceContext,
  runtime: OutsideRuntime,
): Observable<Batch> {
  const told: Observable<Batch>[] = []
  for (const [id, listen] of Object.entries(sources) as [SourceId, Source][]) {
    const address = addresses[id]
    if (address !== undefined) told.push(listen(address, context, runtime))
  }
  return merge(...told)
}
