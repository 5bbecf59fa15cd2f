import type { Observable } from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { SourceId } from '../../domain/external.ts'
import type { ExternalRuntime } from '../runtime.ts'

/** Where one source is reached. */
export type SourceAddress = {
  /** Mirrors of one source, in order of preference. */
  readonly urls: readonly string[]
  /** Bearer token, for sources that use keys. */
  readonly key?: string
}

export type SourceContext = {
  /** Unscaled tickers of the coins that the venue lists now (`BTC`, `PEPE`); empty before the list is known. */
  readonly assets: () => readonly string[]
  readonly onNotice: (notice: SourceNotice) => void
}

/** Something that an operator may want to see: logged and counted by source and kind. */
export type SourceNotice = {
  readonly source: SourceId
  /** Stable identifier, such as `undecodable` or `price_refused`. */
  readonly kind: string
  readonly detail: string
}

/** A notice of a decoder, which does not know its source. */
export type DecodeIssue = Omit<SourceNotice, 'source'>

/**
 * One external source, from subscription to unsubscription. The stream never errors and never completes:
 * it retries after every failure and reports its state as `source-status` events, the first of them at
 * once. An unchanged price is emitted again, because it was confirmed.
 */
export type ExternalSource = (
  address: SourceAddress,
  context: SourceContext,
  runtime: ExternalRuntime,
) => Observable<Batch>
