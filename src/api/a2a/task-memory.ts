import type { ListTasksResponse, Message, Task } from '@a2a-js/sdk'
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server'
import type { Clock } from '../../domain/clock.ts'
import { ADDRESS } from './analysis-agent.ts'

const TASKS_MAX = 1_000
/** Of one address, which forgets its own oldest first: nobody can flush the tasks of others. */
const TASKS_OF_ONE_MAX = 100
/** As long as a quote may be paid, and an answer fetched again. */
const KEPT_MS = 15 * 60_000
const HISTORY_MAX = 4
/** Whoever asks for an analysis needs a few dozen. */
const MESSAGE_CHARS_MAX = 2_000

/**
 * Tasks by their id, which only its client knows: there are no accounts, so nobody is shown a list. Bounded
 * in number, size and time; what a payment has bought outlives its task in the ledger.
 */
export class TaskMemory implements TaskStore {
  readonly #clock: Clock
  readonly #tasks = new Map<string, Kept>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async save(task: Task, { state }: Pick<ServerCallContext, 'state'>): Promise<void> {
    const nowMs = this.#clock.nowMs()
    // Whoever pays for a task may come from elsewhere than who asked for it.
    const address = this.#tasks.get(task.id)?.address ?? String(state.get(ADDRESS))
    this.#tasks.delete(task.id)
    for (const [id, { untilMs }] of this.#tasks) {
      if (untilMs > nowMs && this.#tasks.size < TASKS_MAX) break
      this.#tasks.delete(id)
    }
    const own = [...this.#tasks].filter(([, kept]) => kept.address === address)
    const [oldest] = own
    if (oldest !== undefined && own.length >= TASKS_OF_ONE_MAX) this.#tasks.delete(oldest[0])
    const kept = { ...task, history: latest(task.history) }
    this.#tasks.set(task.id, { task: kept, untilMs: nowMs + KEPT_MS, address })
  }

  /** @returns a task of the caller's own: the SDK cuts and adds to what it is given */
  async load(taskId: string): Promise<Task | undefined> {
    const kept = this.#tasks.get(taskId)
    return kept === undefined || kept.untilMs <= this.#clock.nowMs() ? undefined : { ...kept.task }
  }

  async list(): Promise<ListTasksResponse> {
    return { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }
  }
}

type Kept = { readonly task: Task; readonly untilMs: number; readonly address: string }

/** Without metadata: a signed payment is the business of the ledger alone. */
function latest(history: readonly Message[]): Message[] {
  return history
    .slice(-HISTORY_MAX)
    .map((message) => ({ ...message, metadata: undefined }))
    .filter((message) => JSON.stringify(message).length <= MESSAGE_CHARS_MAX)
}
