import type { Batch } from '../../domain/event.ts'
import type { SourceId, SourceStatusEvent } from '../../domain/external.ts'

type State = SourceStatusEvent['state']

/**
 * The current state of a source. Emits one event per change of the state, and one with the time of that change if a source that
 * does not work has a new reason. Reasons of a degraded source list what is missing, which changes too often.
 */
export class SourceStatus {
  readonly #source: SourceId
  #state: State | null = null
  #reason = ''
  /** Begin of the state. */
  #sinceMs = Number.NaN

  constructor(source: SourceId) {
    this.#source = source
  }

  set(state: State, reason: string, nowMs: number): Batch {
    const isSame = state === this.#state
    if (isSame && (state === 'degraded' || reason === this.#reason)) return []
    if (!isSame) this.#sinceMs = nowMs
    this.#state = state
    this.#reason = reason
    const stamps = { timeExchangeMs: this.#sinceMs, timeReceivedMs: this.#sinceMs }
    return [{ kind: 'source-status', source: this.#source, state, reason, ...stamps }]
  }
}
