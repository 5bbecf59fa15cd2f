import type { Message, Task } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { AgentEvent } from '@a2a-js/sdk/server'
import type { PaymentPayload } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { CallResult, InProcessCall } from '../in-process-call.ts'
import type { AnalysisTool } from '../mcp/mcp-tools.ts'
import { askedUrl } from './asked-analysis.ts'

/** Key of the call's state that holds its caller's address. */
export const ADDRESS = 'address'
/** Key of a task's metadata that holds what it asks for. */
const URL = 'perpscope.url'

export type AnalysisAgentOptions = {
  readonly tools: ReadonlyMap<string, AnalysisTool>
  readonly call: (call: InProcessCall) => Promise<CallResult>
  readonly clock: Clock
}

type Metadata = Readonly<Record<string, unknown>>

/**
 * Sells an analysis as a task: asked for, quoted, paid and delivered, with the states and metadata keys of
 * the x402 extension. A message with a payment names its task, whose quote it answers.
 */
export class AnalysisAgent implements AgentExecutor {
  readonly #options: AnalysisAgentOptions

  constructor(options: AnalysisAgentOptions) {
    this.#options = options
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { userMessage, task } = context
    const url = urlOf(task) ?? askedUrl(userMessage, this.#options.tools)
    if (url === null) {
      const names = [...this.#options.tools.keys()].join(', ')
      const text = `Ask for one of ${names}, such as "pulse BTC", or send {"analysis": "pulse", "coin": "BTC"}.`
      this.#end(context, bus, TaskState.TASK_STATE_REJECTED, text, {}, '')
      return
    }
    const payment = paymentIn(userMessage)
    const address = String(context.context.state.get(ADDRESS) ?? 'unknown')
    const result = await this.#options.call({ url, payment, address })
    switch (result.kind) {
      case 'answer':
        this.#deliver(context, bus, result, url)
        return
      case 'payment-required': {
        const status = payment === null ? 'payment-required' : 'payment-rejected'
        const reason = result.rejection?.['reason']
        const metadata = {
          'x402.payment.status': status,
          'x402.payment.required': result.required,
          ...(reason !== undefined && { 'x402.payment.error': reason }),
        }
        const text =
          payment === null ? 'Pay to get the answer.' : `The payment was refused: ${reason}.`
        this.#end(context, bus, TaskState.TASK_STATE_INPUT_REQUIRED, text, metadata, url)
        return
      }
      case 'refused':
        this.#refuse(context, bus, result.problem, payment !== null, url)
        return
      default:
        result satisfies never
    }
  }

  /** There is nothing at work between two messages. */
  async cancelTask(): Promise<void> {}

  #deliver(
    context: RequestContext,
    bus: ExecutionEventBus,
    { answer, receipt }: Extract<CallResult, { kind: 'answer' }>,
    url: string,
  ): void {
    const { taskId } = context
    const metadata =
      receipt === null
        ? {}
        : { 'x402.payment.status': 'payment-completed', 'x402.payment.receipts': [receipt] }
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
    const task = this.#task(context, TaskState.TASK_STATE_COMPLETED, 'Here it is.', metadata, url)
    bus.publish(AgentEvent.task({ ...task, artifacts: [artifact] }))
    bus.finished()
  }

  /** A problem that passes leaves the task open: the same message, with the same payment, may be sent again. */
  #refuse(
    context: RequestContext,
    bus: ExecutionEventBus,
    problem: Metadata,
    isPaid: boolean,
    url: string,
  ): void {
    const isOpen = problem['retryable'] === true
    const metadata = {
      ...(isPaid && {
        'x402.payment.status': isOpen ? 'payment-submitted' : 'payment-failed',
        'x402.payment.error': problem['code'],
      }),
      problem,
    }
    const state = isOpen ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_FAILED
    this.#end(context, bus, state, String(problem['detail']), metadata, url)
  }

  #end(
    context: RequestContext,
    bus: ExecutionEventBus,
    state: TaskState,
    text: string,
    metadata: Metadata,
    url: string,
  ): void {
    bus.publish(AgentEvent.task(this.#task(context, state, text, metadata, url)))
    bus.finished()
  }

  #task(
    { taskId, contextId, task, userMessage }: RequestContext,
    state: TaskState,
    text: string,
    metadata: Metadata,
    url: string,
  ): Task {
    const history = [...(task?.history ?? []).filter(isNot(userMessage)), userMessage]
    const message: Message = {
      messageId: `${taskId}-${history.length}`,
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
      metadata: { ...metadata, [URL]: url },
    }
  }
}

function isNot({ messageId }: Message) {
  return (other: Message) => other.messageId !== messageId
}

function urlOf(task: Task | undefined): string | null {
  const url: unknown = task?.metadata?.[URL]
  return typeof url === 'string' && url !== '' ? url : null
}

function paymentIn({ metadata }: Message): PaymentPayload | null {
  const payment: unknown = metadata?.['x402.payment.payload']
  return typeof payment === 'object' && payment !== null ? (payment as PaymentPayload) : null
}
