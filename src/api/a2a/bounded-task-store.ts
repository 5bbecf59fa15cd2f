import type { ListTasksResponse, Message, Task } from '@a2a-js/sdk'
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server'
import type { Clock } from '../../domain/clock.ts'
import { ADDRESS } from './analysis-agent.ts'

const TASKS_MAX = 1_000
/** Of one address, which evicts its own oldest task first, so that no caller evicts the tasks of others. */
const TASKS_OF_ONE_MAX = 100
/** Covers the time in which a quote can be paid and its answer fetched again. */
const KEPT_MS = 15 * 60_000
const HISTORY_MAX = 4
/** A request needs a few dozen. */
const MESSAGE_CHARS_MAX = 2_000

/**
 * Tasks by id, which only the client knows; without accounts there is no list. Bounded in number, size and time. The
 * ledger keeps purchased answers longer.
 */
export class BoundedTaskStore implements TaskStore {
  readonly #clock: Clock
  readonly #tasks = new Map<string, Kept>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async save(task: Task, { state }: Pick<ServerCallContext, 'state'>): Promise<void> {
    const nowMs = this.#clock.nowMs()
    // The payment may come from another address than the request.
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

  /** @returns a copy, because the SDK modifies it */
  async load(taskId: string): Promise<Task | undefined> {
    const kept = this.#tasks.get(taskId)
    return kept === undefined || kept.untilMs <= this.#clock.nowMs() ? undefined : { ...kept.task }
  }

  async list(): Promise<ListTasksResponse> {
    return { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }
  }
}

type Kept = { readonly task: Task; readonly untilMs: number; readonly address: string }

/** Without metadata: signed payments are kept in the ledger only. */
function latest(history: readonly Message[]): Message[] {
  return history
    .slice(-HISTORY_MAX)
    .map((message) => ({ ...message, metadata: undefined }))
    .filter((message) => JSON.stringify(message).length <= MESSAGE_CHARS_MAX)
}
