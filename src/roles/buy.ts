import { createInterface } from 'node:readline'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types'
import type { Bought, ProblemBody } from '../client/client.ts'
import {
  IntermediaryError,
  PaymentRefusedError,
  PerpscopeClient,
  RefusedError,
  UnansweredError,
  UnpayableError,
} from '../client/client.ts'
import type { BuyOptions } from '../config/buy.ts'
import { UsageError } from '../config/usage.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import { shellWord } from '../domain/shell-word.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import { described, keysIn, payableBy } from './buyer-keys.ts'
import { buyerWallet } from './buyer-wallet.ts'
import { systemClock } from './system-clock.ts'

const EXIT_REFUSED = 1
/** The payment may have been charged. */
export const EXIT_OPEN = 3

export type Shell = {
  readonly write: (text: string) => void
  readonly tell: (text: string) => void
  /** Standard output is read by a person. */
  readonly isPretty: boolean
  /** Standard input and standard error are a terminal, so the buyer can be asked. */
  readonly canAsk: boolean
}

/**
 * `perpscope buy PATH`: one call from the shell. The client signs within its budget and for the payee of the quote; this
 * command shows the quote, asks for confirmation and prints the answer. @returns the exit code
 */
export async function buy(path: string, options: BuyOptions, shell: Shell): Promise<number> {
  const { url, maxUsd, payee, json = false } = options
  const { write, tell } = shell
  const { key, solanaKey, keyFile, solanaRpcUrl } = options
  const keys =
    keyFile === undefined
      ? { walletKey: key, solanaKey, solanaRpcUrl }
      : keysIn(keyFile, solanaRpcUrl)
  const wallet = await buyerWallet(keys)
  let quoted: PaymentRequirements | null = null
  const pay = async (quote: PaymentRequired): Promise<PaymentPayload> => {
    quoted = payableBy(keys, quote)
    await consent(quoted, options, shell)
    try {
      return await wallet.createPaymentPayload({ ...quote, accepts: [quoted] })
    } catch (cause) {
      // On Solana a node is asked first.
      const advice = quoted.network.startsWith('solana:') ? '; see --solana-rpc-url' : ''
      throw new OperatingError('not_signed', `nothing was signed or charged${advice}`, { cause })
    }
  }
  const client = new PerpscopeClient({
    url,
    pay,
    budget: { maxUsdPerCall: maxUsd, totalUsd: maxUsd },
    ...(payee && { payTo: payee }),
    fetch: textAsJson,
    wait: async (ms) => {
      tell(`perpscope: no answer yet, trying again in ${ms / 1_000} s\n`)
      await new Promise<void>((resolve) => systemClock.after(ms, resolve))
    },
  })
  // As the client sends it, so that --resume sends it to the same URL.
  const target = `/${path.replace(/^\/+/, '')}`
  try {
    const bought = await (options.resume === undefined
      ? client.call(target)
      : client.resume({ url: url + target, header: options.resume }))
    if (json) write(`${JSON.stringify(reportOf(target, quoted, bought))}\n`)
    else {
      write(rendered(bought.answer, shell.isPretty))
      if (bought.receipt !== null)
        tell(`paid ${described(quoted)}, transaction ${bought.receipt.transaction}\n`)
    }
    return 0
  } catch (cause) {
    const failure = failureOf(cause, { path: target, url })
    if (json) write(`${JSON.stringify({ path: target, ...failure.report })}\n`)
    else tell(`perpscope: ${failure.text}\n`)
    return failure.exitCode
  }
}

/** @throws UsageError without a terminal, or when the buyer declines */
async function consent(
  way: PaymentRequirements,
  { yes, keyFile }: BuyOptions,
  { tell, canAsk }: Shell,
): Promise<void> {
  const what = `${described(way)} to ${way.payTo}`
  if (yes === true) {
    tell(`paying ${what}\n`)
    return
  }
  if (!canAsk || keyFile === '-')
    throw new UsageError(`the call costs ${what}: give --yes to pay without being asked`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await new Promise<string>((resolve) => {
    // Ctrl-C and Ctrl-D decline.
    lines.once('close', () => resolve(''))
    lines.question(`Pay ${what}? [y/N] `, resolve)
  })
  lines.close()
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new UsageError('not confirmed; nothing was signed or charged')
}

/** The client reads JSON; free paths may be text, such as /llms.txt. */
async function textAsJson(
  url: string,
  init: { readonly headers: Record<string, string> },
): Promise<Response> {
  const response = await fetch(url, init)
  const { status, headers } = response
  const isJson = /\bjson\b/.test(headers.get('content-type') ?? '')
  if (status !== 200 || isJson) return response
  return new Response(JSON.stringify(await response.text()), { status, headers })
}

function rendered(answer: unknown, isPretty: boolean): string {
  if (typeof answer === 'string') return answer.endsWith('\n') ? answer : `${answer}\n`
  return `${JSON.stringify(answer, null, isPretty ? 2 : 0)}\n`
}

function reportOf(path: string, way: PaymentRequirements | null, bought: Bought<unknown>) {
  return {
    path,
    charged: bought.receipt !== null,
    price_usdc: way === null ? null : Number(usdcDecimal(BigInt(way.amount))),
    payee: way?.payTo ?? null,
    receipt: bought.receipt,
    answer: bought.answer,
  }
}

type Failure = {
  readonly text: string
  readonly report: Readonly<Record<string, unknown>>
  readonly exitCode: number
}

/** Message for a person, report for a program, and an exit code that shows whether money may have moved. */
function failureOf(cause: unknown, call: { readonly path: string; readonly url: string }): Failure {
  if (cause instanceof RefusedError) {
    const { problem } = cause
    const exitCode = problem.charged === false ? EXIT_REFUSED : EXIT_OPEN
    return { text: problemText(problem), report: { charged: problem.charged, problem }, exitCode }
  }
  if (cause instanceof PaymentRefusedError) {
    const text = `the payment was refused: ${cause.message}\nNothing was charged.`
    const report = { charged: false, diagnostics: cause.diagnostics }
    return { text, report, exitCode: EXIT_REFUSED }
  }
  if (cause instanceof UnpayableError || cause instanceof IntermediaryError) {
    const text = `not bought: ${cause.message.replace(/\.$/, '')}.\nNothing was charged.`
    return { text, report: { charged: false, error: cause.message }, exitCode: EXIT_REFUSED }
  }
  if (cause instanceof UnansweredError) {
    const { payment, cause: reason } = cause
    const report = { charged: null, payment }
    const again = `It is not charged twice:\n${resumeCommand(call, payment.header)}`
    // The hint of the refusal says to send it again.
    if (reason instanceof PaymentRefusedError)
      return {
        text: `the payment was refused: ${reason.message}\n${again}`,
        report: { ...report, diagnostics: reason.diagnostics },
        exitCode: EXIT_OPEN,
      }
    const text = `no answer came for a payment that may have been charged: ${reasonOf(reason)}\n`
    return { text: `${text}Send the same payment again. ${again}`, report, exitCode: EXIT_OPEN }
  }
  // `fetch` throws it before anything is signed.
  if (cause instanceof TypeError && cause.cause !== undefined)
    throw new OperatingError(
      'service_unreachable',
      `${call.url} does not answer; is the service running, and is --url right?`,
      { cause: cause.cause },
    )
  throw cause
}

/** Sends a payment again whose answer is missing. */
export function resumeCommand(
  { path, url }: { readonly path: string; readonly url: string },
  header: string,
): string {
  return `perpscope buy ${shellWord(path)} --url ${shellWord(url)} --resume ${header}`
}

function problemText(problem: ProblemBody): string {
  const { title, detail, did_you_mean: meant = [], retryable, retry_after: seconds } = problem
  const charged = {
    true: 'It was charged.',
    false: 'Nothing was charged.',
    null: 'Whether it was charged is not known yet.',
  }[String(problem.charged) as 'true' | 'false' | 'null']
  return [
    `${title}: ${detail}`,
    ...(meant.length > 0 ? [`Did you mean ${meant.join(' or ')}?`] : []),
    ...(retryable ? [seconds === null ? 'Try again.' : `Try again in ${seconds} s.`] : []),
    charged,
  ].join('\n')
}
