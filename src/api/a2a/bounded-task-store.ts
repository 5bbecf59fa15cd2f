import type { ListTasksResponse, Message, Task } from '@a2a-js/sdk'
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server'
import type { Clock } from '../../domain/clock.ts'
import { callerKey } from '../../payment/rate-limit.ts'
import { ADDRESS } from './analysis-agent.ts'

const TASKS_MAX = 1_000
/** Of one caller. With as many, and while the store is full, a caller replaces its own oldest task. */
const TASKS_OF_ONE_MAX = 100
/** Covers the time in which a quote can be paid and its answer fetched again. */
const KEPT_MS = 15 * 60_000
const HISTORY_MAX = 4
/** A request has fewer than 100 characters; longer messages are not stored. */
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
    const caller = this.#tasks.get(task.id)?.caller ?? callerKey(String(state.get(ADDRESS)))
    this.#tasks.delete(task.id)
    for (const [id, { untilMs }] of this.#tasks) {
      if (untilMs > nowMs) break
      this.#tasks.delete(id)
    }
    const isFull = this.#tasks.size >= TASKS_MAX
    const own = [...this.#tasks.keys()].filter((id) => this.#tasks.get(id)?.caller === caller)
    const oldest = own[0] ?? this.#tasks.keys().next().value
    if (oldest !== undefined && (isFull || own.length >= TASKS_OF_ONE_MAX))
      this.#tasks.delete(oldest)
    const kept = { ...task, history: latest(task.history) }
    this.#tasks.set(task.id, { task: kept, untilMs: nowMs + KEPT_MS, caller })
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

type Kept = { readonly task: Task; readonly untilMs: number; readonly caller: string }

/** Without metadata, which can contain a signed payment: only the ledger stores those. */
function latest(history: readonly Message[]): Message[] {
  return history
    .slice(-HISTORY_MAX)
    .map((message) => ({ ...message, metadata: undefined }))
    .filter((message) => JSON.stringify(message).length <= MESSAGE_CHARS_MAX)
}
