import type { Message, Task } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { AgentEvent } from '@a2a-js/sdk/server'
import type { SettleResponse } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import { isoInstant } from '../../domain/instant.ts'
import { isRecord } from '../../domain/json.ts'
import type { CallResult, InProcessCall } from '../in-process-call.ts'
import type { AnalysisTool } from '../mcp/mcp-tools.ts'
import { requestedUrl } from './requested-analysis.ts'

/** Key of the call's state that holds its caller's address. */
export const ADDRESS = 'address'
/** Metadata keys of a task: the path that it buys, and the number of its messages. */
const URL = 'perpscope.url'
const MESSAGES = 'perpscope.messages'
/** More than a purchase needs, retries included. */
const MESSAGES_MAX = 32

const STATUS = 'x402.payment.status'
const REQUIRED = 'x402.payment.required'
const RECEIPTS = 'x402.payment.receipts'
const ERROR = 'x402.payment.error'

const NETWORK_CHARS_MAX = 64

export type AnalysisAgentOptions = {
  readonly tools: ReadonlyMap<string, AnalysisTool>
  readonly call: (call: InProcessCall) => Promise<CallResult>
  readonly clock: Clock
}

type Metadata = Readonly<Record<string, unknown>>

/**
 * Sells an analysis as an A2A task, with the states and metadata keys of the x402 extension. A message with a payment
 * names the task whose quote it pays.
 */
export class AnalysisAgent implements AgentExecutor {
  readonly #options: AnalysisAgentOptions

  constructor(options: AnalysisAgentOptions) {
    this.#options = options
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    bus.publish(AgentEvent.task(await this.#reply(context)))
    bus.finished()
  }

  /** Nothing runs between two messages. */
  async cancelTask(): Promise<void> {}

  async #reply(context: RequestContext): Promise<Task> {
    const { userMessage, task } = context
    const url = urlOf(task) ?? requestedUrl(userMessage, this.#options.tools)
    if (url === null) {
      const names = [...this.#options.tools.keys()].join(', ')
      const text = `Unknown analysis. Send "pulse BTC" or {"analysis": "pulse", "coin": "BTC"}. Analyses: ${names}.`
      return this.#task(context, TaskState.TASK_STATE_REJECTED, text, {}, '')
    }
    const tried = { [RECEIPTS]: receiptsOf(task) }
    if (messagesOf(task) >= MESSAGES_MAX) {
      const text = `A task takes at most ${MESSAGES_MAX} messages. This one was not processed: send it without its taskId.`
      return this.#task(context, TaskState.TASK_STATE_FAILED, text, tried, url)
    }
    if (userMessage.metadata?.[STATUS] === 'payment-rejected') {
      const metadata = { [STATUS]: 'payment-rejected', ...tried }
      return this.#task(context, TaskState.TASK_STATE_CANCELED, 'Payment declined.', metadata, url)
    }
    const payment = userMessage.metadata?.['x402.payment.payload'] ?? null
    const address = String(context.context.state.get(ADDRESS) ?? 'unknown')
    const result = await this.#options.call({ url, payment, address })
    switch (result.kind) {
      case 'answer':
        return this.#delivered(context, result, url)
      case 'payment-required': {
        const reason = String(result.rejection?.['reason'] ?? 'payment_invalid')
        const metadata = {
          ...(payment === null
            ? { [STATUS]: 'payment-required', ...receiptsIn(task) }
            : failed(task, payment, reason)),
          [REQUIRED]: result.required,
        }
        const text = payment === null ? 'Payment required.' : `The payment was refused: ${reason}.`
        return this.#task(context, TaskState.TASK_STATE_INPUT_REQUIRED, text, metadata, url)
      }
      case 'refused':
        return this.#refused(context, result.problem, payment, url)
      default:
        return result satisfies never
    }
  }

  #delivered(
    context: RequestContext,
    { answer, receipt }: Extract<CallResult, { kind: 'answer' }>,
    url: string,
  ): Task {
    const { taskId, task: before } = context
    const metadata =
      receipt === null
        ? {}
        : { [STATUS]: 'payment-completed', [RECEIPTS]: [...receiptsOf(before), receipt] }
    const artifact = {
      artifactId: `${taskId}-answer`,
      name: 'answer',
      description: '',
      parts: [
        {
          content: { $case: 'data' as const, value: answer },
          metadata: undefined,
          filename: '',
          mediaType: 'application/json',
        },
      ],
      metadata: undefined,
      extensions: [],
    }
    const task = this.#task(context, TaskState.TASK_STATE_COMPLETED, 'Completed.', metadata, url)
    return { ...task, artifacts: [artifact] }
  }

  /** A temporary problem leaves the task open, so that the same message can be sent again with the same payment. */
  #refused(context: RequestContext, problem: Metadata, payment: unknown, url: string): Task {
    const isOpen = problem['retryable'] === true
    const code = String(problem['code'])
    const metadata = {
      ...receiptsIn(context.task),
      ...(payment !== null &&
        (isOpen
          ? { [STATUS]: 'payment-submitted', [ERROR]: code }
          : failed(context.task, payment, code))),
      problem,
    }
    const state = isOpen ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_FAILED
    return this.#task(context, state, String(problem['detail']), metadata, url)
  }

  #task(
    { taskId, contextId, task, userMessage }: RequestContext,
    state: TaskState,
    text: string,
    metadata: Metadata,
    url: string,
  ): Task {
    const before = (task?.history ?? []).filter((one) => one.messageId !== userMessage.messageId)
    const history = [...before, userMessage]
    const messages = messagesOf(task) + 1
    const message: Message = {
      messageId: `${taskId}-${messages}`,
      contextId,
      taskId,
      role: Role.ROLE_AGENT,
      parts: [
        {
          content: { $case: 'text', value: text },
          metadata: undefined,
          filename: '',
          mediaType: 'text/plain',
        },
      ],
      metadata: { ...metadata },
      extensions: [],
      referenceTaskIds: [],
    }
    return {
      id: taskId,
      contextId,
      status: { state, message, timestamp: isoInstant(this.#options.clock.nowMs()) },
      artifacts: [],
      history,
      metadata: { ...metadata, [URL]: url, [MESSAGES]: messages },
    }
  }
}

function urlOf(task: Task | undefined): string | null {
  const url: unknown = task?.metadata?.[URL]
  return typeof url === 'string' && url !== '' ? url : null
}

function messagesOf(task: Task | undefined): number {
  return Number(task?.metadata?.[MESSAGES] ?? 0)
}

/** Receipts of the payments of a task so far, failed ones included. */
function receiptsIn(task: Task | undefined): Metadata {
  const receipts = receiptsOf(task)
  return receipts.length === 0 ? {} : { [RECEIPTS]: receipts }
}

/** Receipts of all payments of the task, failed ones included. */
function receiptsOf(task: Task | undefined): readonly SettleResponse[] {
  return (task?.metadata?.[RECEIPTS] as readonly SettleResponse[] | undefined) ?? []
}

/** Metadata of a failed payment, as the x402 extension defines. */
function failed(task: Task | undefined, payment: unknown, reason: string): Metadata {
  const network = networkOf(payment)
  return {
    [STATUS]: 'payment-failed',
    [ERROR]: errorCodes.find(([part]) => part.test(reason))?.[1] ?? reason,
    [RECEIPTS]: [
      ...receiptsOf(task),
      { success: false, errorReason: reason, network, transaction: '' },
    ],
  }
}

/** Network of a payment of x402 version 2 or 1; untrusted input. */
function networkOf(payment: unknown): string {
  const { accepted, network: named } = isRecord(payment) ? payment : {}
  const network = (isRecord(accepted) ? accepted['network'] : null) ?? named
  return typeof network === 'string' ? network.slice(0, NETWORK_CHARS_MAX) : ''
}

/** x402 reasons by error code of the extension; other reasons are passed on. */
const errorCodes = [
  [/insufficient/, 'INSUFFICIENT_FUNDS'],
  [/signature/, 'INVALID_SIGNATURE'],
  [/expired|valid_before/, 'EXPIRED_PAYMENT'],
  [/nonce|duplicate|replayed/, 'DUPLICATE_NONCE'],
  [/network/, 'NETWORK_MISMATCH'],
  [/value|amount/, 'INVALID_AMOUNT'],
  [/simulation_failed/, 'SETTLEMENT_FAILED'],
] as const
