import type { Observable } from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { SourceId } from '../../domain/external.ts'
import type { ExternalRuntime } from '../runtime.ts'

/** Where one source is reached. */
export type SourceAddress = {
  /** In order of preference; all of them speak for the same source. */
  readonly urls: readonly string[]
  /** Sent as a bearer token where the source knows keys. */
  readonly key?: string
}

/** What sources are told, whoever they are. */
export type SourceContext = {
  /** Plain tickers of what the venue trades now, `BTC`, `PEPE`; empty before its list is known. */
  readonly assets: () => readonly string[]
  /** A frame that made no sense, a price that was refused: for a log that counts by kind. */
  readonly onNotice: (notice: SourceNotice) => void
}

export type SourceNotice = {
  readonly source: SourceId
  /** Stable word for what it is, such as `undecodable` or `price_refused`. */
  readonly kind: string
  readonly detail: string
}

/**
 * Everything that one upstream tells, from subscription to unsubscription. It never errors and never
 * completes: what fails is told by a `source-status` event in the stream and tried again, with full
 * jitter. The first event is a status. Prices that come again unchanged are told again: they confirm.
 */
export type Source = (
  address: SourceAddress,
  context: SourceContext,
  runtime: ExternalRuntime,
) => Observable<Batch>
