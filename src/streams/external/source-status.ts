import type { Batch } from '../../domain/event.ts'
import type { SourceId, SourceStatusEvent } from '../../domain/external.ts'

type State = SourceStatusEvent['state']

/**
 * Current state of a source. Emits an event on each change of state, and another with the same time if the reason
 * changes, except while degraded: that reason lists what is missing and changes too often.
 */
export class SourceStatus {
  readonly #source: SourceId
  #state: State | null = null
  #reason = ''
  /** Start of the state. */
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
