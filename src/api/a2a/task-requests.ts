import type { AgentCard, Message, SendMessageRequest, Task } from '@a2a-js/sdk'
import {
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { AgentExecutor, ServerCallContext, TaskStore } from '@a2a-js/sdk/server'
import { DefaultRequestHandler } from '@a2a-js/sdk/server'

const CONTEXT_ID_CHARS_MAX = 256
/** Messages of one task that are at work or wait for it. */
const MESSAGES_AT_ONCE_MAX = 8

/**
 * The SDK's own, with two things that it leaves open. Messages of one task share a bus, and the end of one is
 * the end of all: so they are taken one after the other, and the answer to a payment reaches who paid. And
 * nothing is kept for callers but their tasks, which are bounded.
 */
export class TaskRequests extends DefaultRequestHandler {
  readonly #tasks: TaskStore
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>()

  constructor(card: AgentCard, tasks: TaskStore, agent: AgentExecutor) {
    // By default a bus outlives a quote, and most quotes are never paid.
    const options = { keepBusAliveStates: [] }
    super(card, tasks, agent, undefined, undefined, undefined, undefined, undefined, options)
    this.#tasks = tasks
  }

  override async sendMessage(
    params: SendMessageRequest,
    context: ServerCallContext,
  ): Promise<Message | Task> {
    const { message } = params
    if (message === undefined) return super.sendMessage(params, context)
    if (message.contextId.length > CONTEXT_ID_CHARS_MAX)
      throw new RequestMalformedError(`contextId has up to ${CONTEXT_ID_CHARS_MAX} characters.`)
    if (message.taskId !== '' && (await this.#tasks.load(message.taskId, context)) === undefined)
      throw new TaskNotFoundError(
        'There is no such task, or no more. This message was not looked at: ask for the analysis again without its taskId, with the same payment.',
      )
    // Nothing here reads other tasks, and the SDK writes a line for each that it does not find.
    const lone = { ...params, message: { ...message, referenceTaskIds: [] } }
    return this.#inTurn(message.taskId, () => super.sendMessage(lone, context))
  }

  async #inTurn<T>(taskId: string, run: () => Promise<T>): Promise<T> {
    if (taskId === '') return run()
    const line = this.#lines.get(taskId) ?? { last: Promise.resolve(), length: 0 }
    if (line.length >= MESSAGES_AT_ONCE_MAX)
      throw new UnsupportedOperationError('Too many messages of this task at once.')
    const turn = line.last.then(run)
    line.last = turn.catch(() => undefined)
    line.length += 1
    this.#lines.set(taskId, line)
    try {
      return await turn
    } finally {
      line.length -= 1
      if (line.length === 0) this.#lines.delete(taskId)
    }
  }
}
