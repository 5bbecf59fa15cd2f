import type { Batch } from '../../domain/event.ts'
import type { SourceId, SourceStatusEvent } from '../../domain/external.ts'

type State = SourceStatusEvent['state']

/** What was last said about a source, so that it is said once. */
export class ToldStatus {
  readonly #source: SourceId
  #state: State | null = null

  constructor(source: SourceId) {
    this.#source = source
  }

  get state(): State | null {
    return this.#state
  }

  /** @returns the event where the state has changed, else nothing; a new reason alone is no change */
  tell(state: State, reason: string, nowMs: number): Batch {
    if (state === this.#state) return []
    this.#state = state
    return [
      {
        kind: 'source-status',
        source: this.#source,
        state,
        reason,
        timeExchangeMs: nowMs,
        timeReceivedMs: nowMs,
      },
    ]
  }
}
