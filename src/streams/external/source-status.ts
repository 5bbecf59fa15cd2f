import type { Batch } from '../../domain/event.ts'
import type { SourceId, SourceStatusEvent } from '../../domain/external.ts'

type State = SourceStatusEvent['state']

/** The current state of a source. Emits one event per change of the state; a new reason alone is no change. */
export class SourceStatus {
  readonly #source: SourceId
  #state: State | null = null

  constructor(source: SourceId) {
    this.#source = source
  }

  set(state: State, reason: string, nowMs: number): Batch {
    if (state === this.#state) return []
    this.#state = state
    const stamps = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
    return [{ kind: 'source-status', source: this.#source, state, reason, ...stamps }]
  }
}
