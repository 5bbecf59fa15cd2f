import type { ListTasksResponse, Task } from '@a2a-js/sdk'
import type { TaskStore } from '@a2a-js/sdk/server'
import type { Clock } from '../../domain/clock.ts'

const TASKS_MAX = 1_000
/** As long as a quote may be paid, and an answer fetched again. */
const KEPT_MS = 15 * 60_000

/**
 * Tasks by their id, which only its client knows: there are no accounts, so nobody is shown a list. Bounded
 * in number and time; what a payment has bought outlives its task in the ledger.
 */
export class TaskMemory implements TaskStore {
  readonly #clock: Clock
  readonly #tasks = new Map<string, { readonly task: Task; readonly untilMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async save(task: Task): Promise<void> {
    const nowMs = this.#clock.nowMs()
    this.#tasks.delete(task.id)
    for (const [id, { untilMs }] of this.#tasks) {
      if (untilMs > nowMs && this.#tasks.size < TASKS_MAX) break
      this.#tasks.delete(id)
    }
    this.#tasks.set(task.id, { task, untilMs: nowMs + KEPT_MS })
  }

  async load(taskId: string): Promise<Task | undefined> {
    const kept = this.#tasks.get(taskId)
    return kept === undefined || kept.untilMs <= this.#clock.nowMs() ? undefined : kept.task
  }

  async list(): Promise<ListTasksResponse> {
    return { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }
  }
}
