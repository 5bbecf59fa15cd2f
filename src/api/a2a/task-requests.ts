import type { AgentCard, Message, Part, SendMessageRequest, Task } from '@a2a-js/sdk'
import {
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { AgentExecutor, ServerCallContext, TaskStore } from '@a2a-js/sdk/server'
import { DefaultRequestHandler } from '@a2a-js/sdk/server'

const CONTEXT_ID_CHARS_MAX = 256
/** Running and queued messages of one task. */
const MESSAGES_AT_ONCE_MAX = 8

/**
 * The SDK's handler, with messages of one task processed one after the other: they share an event bus, and the end of
 * one would end all. No state is kept apart from the bounded tasks.
 */
export class TaskRequests extends DefaultRequestHandler {
  readonly #tasks: TaskStore
  readonly #lines = new Map<string, { last: Promise<unknown>; length: number }>()

  constructor(card: AgentCard, tasks: TaskStore, agent: AgentExecutor) {
    // By default a bus outlives its quote, and most quotes are never paid.
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
    // Version 0.3 of the SDK passes values of any type.
    if (typeof message.contextId !== 'string' || message.contextId.length > CONTEXT_ID_CHARS_MAX)
      throw new RequestMalformedError(
        `contextId must be a string of at most ${CONTEXT_ID_CHARS_MAX} characters.`,
      )
    if (message.parts.some(isMalformed))
      throw new RequestMalformedError('A text part needs a string, and a data part a value.')
    if (message.taskId !== '' && (await this.#tasks.load(message.taskId, context)) === undefined)
      throw new TaskNotFoundError(
        'The task is unknown or has expired, and the message was not processed. Request the analysis again without taskId, with the same payment.',
      )
    // Unused here, and the SDK logs a line for each unknown one.
    const lone = { ...params, message: { ...message, referenceTaskIds: [] } }
    return this.#inTurn(message.taskId, () => super.sendMessage(lone, context))
  }

  async #inTurn<T>(taskId: string, run: () => Promise<T>): Promise<T> {
    if (taskId === '') return run()
    const line = this.#lines.get(taskId) ?? { last: Promise.resolve(), length: 0 }
    if (line.length >= MESSAGES_AT_ONCE_MAX)
      throw new UnsupportedOperationError(
        `At most ${MESSAGES_AT_ONCE_MAX} messages of a task may be pending. Wait for their responses.`,
      )
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

/** A sale with such a part could not be answered: the SDK does not translate it back to version 0.3. */
function isMalformed({ content }: Part): boolean {
  if (content?.$case === 'text') return typeof content.value !== 'string'
  return content?.$case === 'data' && content.value === undefined
}
