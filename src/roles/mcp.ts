import { finished } from 'node:stream/promises'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { x402Client } from '@x402/core/client'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { Budget } from '../client/budget.ts'
import { PaymentRefusedError, RefusedError, UnpayableError } from '../client/errors.ts'
import { Payees } from '../client/payees.ts'
import { isCharged, isOver, isUncharged, readRefusal } from '../client/refusal.ts'
import { sendUntilSettled } from '../client/retry.ts'
import type { BudgetedPayment, Buyer } from '../client/sign-payment.ts'
import { signPayment } from '../client/sign-payment.ts'
import { ConfigError } from '../config/config-error.ts'
import { version } from '../config/environment.ts'
import type { McpOptions } from '../config/mcp.ts'
import { BoundedMap } from '../domain/bounded-map.ts'
import { OperatingError } from '../domain/errors.ts'
import { parsedJson } from '../domain/json.ts'
import { EXIT_OPEN, resumeCommand } from './buy.ts'
import { buyerWallet } from './buyer-wallet.ts'
import { checkedFrames } from './checked-frames.ts'
import { systemClock } from './system-clock.ts'

const PAYMENT = 'x402/payment'
const PENDING_MAX = 200
/** A settlement on Base takes some seconds. Hosts end a command that stays longer. */
const LAST_ANSWERS_MS_MAX = 15_000

type Arguments = Readonly<Record<string, unknown>>
type Pending = {
  readonly signed: BudgetedPayment
  /** It may have been charged, so it is sent again at any age before another payment is signed. */
  readonly isOpen: boolean
}
type Call = { readonly name: string; readonly args: Arguments; readonly key: string }
/** The result of a call, and the requests of the host that wait for it. A cancelled request is aborted. */
type Purchase = {
  readonly result: Promise<CallToolResult>
  readonly requests: Set<AbortSignal>
}

/**
 * `perpscope mcp`: offers the tools of a service to a desktop client over stdio and pays for the calls up to a budget.
 * Spending is reported on standard error, because standard output carries the protocol. After the end of the input, or
 * a signal, calls under way are answered and nothing more is signed.
 * @returns the exit code, after the connection ended
 */
export async function mcp(options: McpOptions, tell: (text: string) => void): Promise<number> {
  const wallet = await walletOf(options)
  const { nowMs } = systemClock
  const limits = { maxUsdPerCall: options.maxUsdPerCall, totalUsd: options.budgetUsd }
  const budget = new Budget(limits, nowMs)
  const buyer: Buyer = {
    pay: (quote) => wallet.createPaymentPayload(quote),
    budget,
    payees: new Payees(options.payee),
    timeoutSecondsMax: options.maxTimeoutSeconds,
    nowMs,
  }
  const service = new Client({ name: 'perpscope-mcp', version })
  const endpoint = new StreamableHTTPClientTransport(new URL(`${options.url}/mcp`))
  await service.connect(endpoint).catch((cause: unknown) => {
    throw new OperatingError(
      'service_unreachable',
      `${options.url} does not answer; is the service running, and is --url right?`,
      { cause },
    )
  })
  tell(`perpscope mcp: ${options.url}, up to ${options.budgetUsd} USDC\n`)

  const ask = ({ name, args }: Call, meta?: Record<string, unknown>) =>
    service.callTool({
      name,
      arguments: args,
      ...(meta && { _meta: meta }),
    }) as Promise<CallToolResult>

  /** By call, payments with an open outcome, with an answer that was not delivered, or that were not charged. */
  const pending = new BoundedMap<string, Pending>(PENDING_MAX)
  const underWay = new Map<string, Purchase>()
  let isEnding = false
  /** Answered after the end of the input. A host that has died does not receive the answers. */
  const late: BudgetedPayment[] = []

  /** A host that cancels a call and repeats it waits for the same purchase. */
  function boughtOnce(call: Call, request: AbortSignal): Promise<CallToolResult> {
    const purchase = underWay.get(call.key) ?? begun(call)
    purchase.requests.add(request)
    return purchase.result
  }

  function begun(call: Call): Purchase {
    const requests = new Set<AbortSignal>()
    const isWanted = () => [...requests].some(({ aborted }) => !aborted)
    const result = bought(call, isWanted).finally(() => underWay.delete(call.key))
    const purchase = { result, requests }
    underWay.set(call.key, purchase)
    return purchase
  }

  async function bought(call: Call, isWanted: () => boolean): Promise<CallToolResult> {
    const before = pending.get(call.key)
    if (before !== undefined && (before.isOpen || before.signed.freshUntilMs > nowMs())) {
      try {
        return await delivered(call, before, isWanted)
      } catch (cause) {
        // It was not charged and never will be, so a new payment is signed.
        if (!(cause instanceof PaymentRefusedError)) throw cause
      }
    }
    const quoted = await ask(call)
    if (!isQuote(quoted.structuredContent)) return quoted
    if (isEnding || !isWanted()) return failure('Cancelled before anything was paid.')
    const signed = await signPayment(quoted.structuredContent, buyer)
    return delivered(call, { signed, isOpen: false }, isWanted)
  }

  async function delivered(
    call: Call,
    { signed, isOpen }: Pending,
    isWanted: () => boolean,
  ): Promise<CallToolResult> {
    const { payment, hold } = signed
    // For the report of a command that ends before the outcome is known.
    pending.set(call.key, { signed, isOpen: true })
    try {
      const sent = async () => answerIn(await ask(call, { [PAYMENT]: payment }))
      const result = await sendUntilSettled(sent, undefined, isOpen)
      // Cancelled during payment: the service keeps the answer, and a repeated call gets it.
      if (!isWanted()) pending.set(call.key, { signed, isOpen: true })
      else {
        pending.delete(call.key)
        if (isEnding) late.push(signed)
      }
      budget.settle(hold)
      return result
    } catch (cause) {
      pending.delete(call.key)
      if (isUncharged(cause)) budget.reportUncharged(hold)
      if (isCharged(cause)) budget.settle(hold)
      // It buys nothing any more, whether it was charged or not.
      const isRefusedForEver = cause instanceof PaymentRefusedError && hold.endsMs <= nowMs()
      if (!isOver(cause) && !isRefusedForEver)
        pending.set(call.key, { signed, isOpen: !isUncharged(cause) })
      if (isUncharged(cause) || isOver(cause)) throw cause
      return failure(isRefusedForEver ? endedText(cause) : openText(cause))
    } finally {
      const { heldUsd } = budget
      const held = heldUsd === 0 ? '' : `, ${heldUsd} of them for payments without an answer`
      tell(`perpscope mcp: ${call.name}, ${budget.spentUsd} USDC spent${held}\n`)
    }
  }

  const answerInvalid = (error: object) => process.stdout.write(`${JSON.stringify(error)}\n`)
  const cutShort = Promise.withResolvers<void>()
  const frames = checkedFrames(process.stdin, answerInvalid, lastAnswers)
  const stop = () => {
    if (isEnding) cutShort.resolve()
    process.stdin.destroy()
    frames.end()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  // Before the listener of the command line, which ends with 0.
  process.stdout.prependListener('error', () => process.exit(reported(late)))
  const handle = serveStdio(newServer, { transport: new StdioServerTransport(frames) })
  await finished(frames)
  await Promise.all([handle.close(), service.close()])
  return reported([])

  /** Prints how to fetch the answers of open payments and of the lost ones. @returns the exit code */
  function reported(lost: readonly BudgetedPayment[]): number {
    const open = [...pending.values()].flatMap(({ signed, isOpen }) => (isOpen ? [signed] : []))
    const missing = [...open, ...lost]
    for (const { payment } of missing) tell(unanswered(payment, options.url))
    return missing.length === 0 ? 0 : EXIT_OPEN
  }

  async function lastAnswers(): Promise<void> {
    isEnding = true
    const cancel = systemClock.after(LAST_ANSWERS_MS_MAX, cutShort.resolve)
    const answers = [...underWay.values()].map(({ result }) => result)
    await Promise.race([Promise.allSettled(answers), cutShort.promise])
    cancel()
  }

  function newServer(): Server {
    const server = new Server(
      { name: 'perpscope', version },
      { capabilities: { tools: {} }, instructions: service.getInstructions() ?? '' },
    )
    server.setRequestHandler('tools/list', () => service.listTools())
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      try {
        return await boughtOnce(callOf(params.name, params.arguments ?? {}), mcpReq.signal)
      } catch (cause) {
        return notBought(cause)
      }
    })
    return server
  }
}

/** Sorts the arguments, because a payment is for one URL and models vary the order. */
function callOf(name: string, given: Arguments): Call {
  const entries = Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1))
  return { name, args: Object.fromEntries(entries), key: JSON.stringify([name, entries]) }
}

/** @throws the refusal of the service */
function answerIn(result: CallToolResult): CallToolResult {
  if (result.isError !== true) return result
  const [first] = result.content
  const text = first?.type === 'text' ? first.text : ''
  throw readRefusal(parsedJson(text)) ?? new Error(text)
}

/** The message for the model if a payment was refused; other errors are thrown. */
function notBought(cause: unknown): CallToolResult {
  if (cause instanceof RefusedError) return failure(JSON.stringify(cause.problem))
  if (!(cause instanceof UnpayableError || cause instanceof PaymentRefusedError)) throw cause
  return failure(`Not bought: ${cause.message.replace(/\.$/, '')}.`)
}

/** The message for the model about a payment that can no longer be settled. */
function endedText(cause: PaymentRefusedError): string {
  return (
    `Not bought: ${cause.diagnostics.reason}. The payment has expired and may have been charged before: it stays ` +
    'counted. Call again with the same arguments to sign another one.'
  )
}

/** The message for the model about a payment that is kept. */
function openText(cause: unknown): string {
  const again =
    'Call again with the same arguments: the same payment is sent again, and no other payment is made.'
  if (!(cause instanceof PaymentRefusedError))
    return `No answer was received for a payment that may have been charged. ${again}`
  // The report at the end of the command names the payment.
  const discard = 'To give the payment up, restart perpscope mcp.'
  return `Not bought: ${cause.message.replace(/\.$/, '')}. ${again} ${discard}`
}

function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

/** @param url of the service as the buyer reaches it */
function unanswered(payment: PaymentPayload, url: string): string {
  const { pathname, search } = new URL(payment.resource?.url ?? '', url)
  const command = resumeCommand(
    { path: pathname + search, url: new URL(url).origin },
    encodePaymentSignatureHeader(payment),
  )
  return `perpscope mcp: no answer came for a payment that may have been charged. It is not charged twice:\n${command}\n`
}

function isQuote(content: unknown): content is PaymentRequired {
  return typeof content === 'object' && content !== null && 'accepts' in content
}

function walletOf(options: McpOptions): Promise<x402Client> {
  if (options.walletKey === undefined && options.solanaKey === undefined)
    throw new ConfigError(
      'no wallet: set PERPSCOPE_WALLET_KEY (Base), PERPSCOPE_SOLANA_KEY (Solana) or both',
    )
  return buyerWallet(options)
}
