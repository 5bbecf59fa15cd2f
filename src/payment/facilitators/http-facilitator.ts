import { isSignature } from '@solana/kit'
import type { SupportedResponse } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import { nodeReason } from '../node-error.ts'
import type {
  DecodedPayment,
  Facilitator,
  Outcome,
  Settlement,
  Unreachable,
  Verification,
} from '../payment.ts'
import { forwardedPayload } from '../wire-payload.ts'
import type { FacilitatorQuery, FacilitatorReply } from './facilitator-client.ts'
import { askFacilitator } from './facilitator-client.ts'
import { readSupported } from './supported.ts'

export type HttpFacilitatorOptions<P extends DecodedPayment> = {
  readonly url: string
  /** Without it the outcome of a settlement whose reply was lost can only be asked for by settling again. */
  readonly outcome?: (payment: P) => Promise<Outcome>
  /** Value of the `Authorization` header, such as `Bearer …`. */
  readonly authorization?: string
  /** For the deadlines of calls. */
  readonly clock: Clock
  readonly bounds?: CallBounds
  /** Hears after every call how the service did. */
  readonly onCall?: (call: FacilitatorCall) => void
}

export type CallBounds = { readonly verifyMsMax: number; readonly settleMsMax: number }

/** How a facilitator did as a service, whatever it said about a payment. */
export type FacilitatorCall =
  | { readonly kind: 'answered' }
  /** No answer, or none that makes sense. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** It does not take our authorization. */
  | { readonly kind: 'refused'; readonly reason: string }

export interface HttpFacilitator<P extends DecodedPayment> extends Facilitator<P> {
  /** What it can do, by its own word. @throws Error whose message holds no secret */
  supported(): Promise<SupportedResponse>
}

/** Shorter than any buyer waits. */
export const callBounds: CallBounds = { verifyMsMax: 5_000, settleMsMax: 8_000 }

/** We speak version 2 to facilitators, whichever version the buyer speaks. */
const X402_VERSION = 2
const SUPPORTED_MS_MAX = 5_000
const SUPPORTED_AGAIN_MS = 1_000
/** A verdict has a few hundred bytes. */
const VERDICT_BYTES_MAX = 65_536
/** Some settle on a hundred chains by several schemes, in both versions. */
const SUPPORTED_BYTES_MAX = 262_144
/** A code that we read, log and send on in a header. */
const REASON_CHARS_MAX = 80
/** Who does not serve us is asked again whether it does after that long at most. */
const NOT_SERVED_RETRY_SECONDS = 60
/** Said before anything is acted upon. Not 408 and 409: there an attempt may be under way. */
const NEVER_BEGUN = new Set([400, 401, 402, 403, 404, 405, 413, 415, 422, 429])
/** Of those, by which it does not take this one payment: it will say so again. */
const LASTING = new Set([400, 413, 415, 422])
/** And by which it does not serve us, until an operator has done something about it. */
const NOT_SERVED = new Set([401, 402, 403, 404, 405])
/**
 * Parts of the reasons that are given before anything is sent. With any other one, such as a transaction that failed or
 * a confirmation that timed out, something may have been, and may still be mined.
 */
const NEVER_SENT = new RegExp(
  [
    'insufficient|simulation_failed|valid_(before|after)|(payment|authorization)_expired|nonce|duplicate',
    '_payload|^invalid_\\w*signature|parse_signature|missing_|unsupported|not_supported|requirements|declined',
    '(value|amount|recipient|mint|memo|network|scheme|fee_payer|token_name|token_version)(_mismatch|$)',
  ].join('|'),
)
/** What a facilitator claimed at boot to be able to do is not the buyer's fault. */
const UNSUPPORTED = /^(unsupported|invalid)_(scheme|network|x402_version)/
/** Why a wallet is not served, whoever asks for it. */
const SCREENED = /kyt|sanction|aml_|high_risk/i
const DECLINED = 'payer_declined'
/** Shorter parts of a header are words such as `Bearer`. */
const SECRET_CHARS_MIN = 8
const CONNECT_FAILURES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** A facilitator service, such as a hosted one, by the protocol's own HTTP interface. */
export function httpFacilitator<P extends DecodedPayment>(
  options: HttpFacilitatorOptions<P>,
): HttpFacilitator<P> {
  const { outcome, authorization, bounds = callBounds, onCall = () => undefined } = options
  const ask = (request: FacilitatorQuery) => askFacilitator(options, request)
  const judge = (path: 'verify' | 'settle', payment: DecodedPayment, msMax: number) =>
    ask({
      path,
      body: {
        x402Version: X402_VERSION,
        paymentPayload: forwardedPayload(payment),
        paymentRequirements: payment.requirement.wire,
      },
      msMax,
      bytesMax: VERDICT_BYTES_MAX,
    })

  /** Tells how the call went, and in words that may be logged why it failed. */
  function failed(cause: unknown, isAboutUs = false): string {
    const reason = withoutSecret(reasonOf(cause), authorization)
    onCall({ kind: isAboutUs ? 'refused' : 'failed', reason })
    return reason
  }

  function unreachable(reply: FacilitatorReply): Unreachable {
    const reason = failed(unexpected(reply), reply.status === 401)
    return { kind: 'unreachable', reason, ...prospect(reply) }
  }

  const reasonIn = (body: Readonly<Record<string, unknown>>, name: string) =>
    code(withoutSecret(textIn(body, name), authorization))

  return {
    async verify(payment): Promise<Verification> {
      let reply: FacilitatorReply
      try {
        reply = await judge('verify', payment, bounds.verifyMsMax)
      } catch (cause) {
        return { kind: 'unreachable', reason: failed(cause) }
      }
      if (isScreened(reply)) {
        onCall({ kind: 'answered' })
        return { kind: 'invalid', reason: DECLINED }
      }
      const { status, body } = reply
      if (body === null || !isVerdict(status) || typeof body['isValid'] !== 'boolean')
        return unreachable(reply)
      if (body['isValid']) {
        // Only what is believed has to be about this payment: a refusal costs nobody anything.
        const contradiction = isOk(status) ? payerContradiction(body, payment) : unexpected(reply)
        if (contradiction !== null) return { kind: 'unreachable', reason: failed(contradiction) }
        onCall({ kind: 'answered' })
        return { kind: 'valid' }
      }
      const reason = reasonIn(body, 'invalidReason') || 'unexpected_verify_error'
      const isUnsupported = UNSUPPORTED.test(reason)
      if (!isUnsupported && reason !== 'unexpected_verify_error') {
        onCall({ kind: 'answered' })
        return { kind: 'invalid', reason }
      }
      onCall({ kind: 'failed', reason })
      return { kind: 'unreachable', reason, ...(isUnsupported && { isLasting: true }) }
    },

    async settle(payment): Promise<Settlement> {
      let reply: FacilitatorReply
      try {
        reply = await judge('settle', payment, bounds.settleMsMax)
      } catch (cause) {
        const reason = failed(cause)
        return neverConnected(cause)
          ? { kind: 'unreachable', reason }
          : { kind: 'unknown', reason, transaction: null }
      }
      const { status, body } = reply
      if (isScreened(reply)) {
        onCall({ kind: 'answered' })
        return { kind: 'rejected', reason: DECLINED }
      }
      const transaction = transactionIn(reply, payment)
      if (body === null || !isVerdict(status) || typeof body['success'] !== 'boolean') {
        if (NEVER_BEGUN.has(status) && !namesTransaction(reply)) return unreachable(reply)
        return { kind: 'unknown', reason: failed(unexpected(reply), status === 401), transaction }
      }
      const contradiction = settlementContradiction(body, payment)
      if (contradiction !== null)
        return { kind: 'unknown', reason: failed(contradiction), transaction: null }
      if (body['success']) {
        if (!isOk(status))
          return { kind: 'unknown', reason: failed(unexpected(reply)), transaction }
        onCall({ kind: 'answered' })
        if (transaction === null && payment.requirement.wire.scheme === 'exact')
          return { kind: 'unknown', reason: 'settled, and in no transaction', transaction }
        const { extensionResponses } = reply
        return {
          kind: 'settled',
          transaction: transaction ?? '',
          isFinal: true,
          ...(extensionResponses === null ? {} : { extensionResponses }),
        }
      }
      const reason = reasonIn(body, 'errorReason') || 'unexpected_settle_error'
      onCall(
        textIn(body, 'errorReason') === 'unexpected_settle_error'
          ? { kind: 'failed', reason }
          : { kind: 'answered' },
      )
      return transaction === null && NEVER_SENT.test(reason)
        ? { kind: 'rejected', reason }
        : { kind: 'unknown', reason, transaction }
    },

    async outcome(payment): Promise<Outcome> {
      return outcome === undefined
        ? { kind: 'unknown', reason: 'no RPC URL is configured' }
        : outcome(payment)
    },

    async supported(): Promise<SupportedResponse> {
      const request = {
        path: 'supported',
        msMax: Math.min(SUPPORTED_MS_MAX, bounds.verifyMsMax),
        bytesMax: SUPPORTED_BYTES_MAX,
      } as const
      let reply: FacilitatorReply
      try {
        reply = await ask(request)
        // At a start nothing is known of it yet, and it is asked only once.
        if (reply.status === 429) {
          await pause(options.clock, SUPPORTED_AGAIN_MS)
          reply = await ask(request)
        }
      } catch (cause) {
        throw new Error(failed(cause))
      }
      const supported = isOk(reply.status) ? readSupported(reply.body) : null
      if (supported !== null) return supported
      const isAboutUs = reply.status === 401 || reply.status === 403
      throw new Error(failed(unexpected(reply), isAboutUs))
    },
  }
}

/** What the facilitator says of another payment than it was asked about; null where it does not. */
function settlementContradiction(
  body: Readonly<Record<string, unknown>>,
  payment: DecodedPayment,
): Error | null {
  const { wire, method } = payment.requirement
  const network = textIn(body, 'network')
  // A refusal may leave it out; some write a network as version 1 does.
  const isSilent = network === '' && body['success'] === false
  if (!isSilent && network !== wire.network && network !== method.legacyName)
    return contradiction('network', network, wire.network)
  const amount = textIn(body, 'amount')
  if (
    body['success'] === true &&
    wire.scheme === 'exact' &&
    amount !== '' &&
    amount !== wire.amount
  )
    return contradiction('amount', amount, wire.amount)
  const transaction = textIn(body, 'transaction')
  if (transaction !== '' && !isTransaction(transaction, wire.network))
    return contradiction('transaction', transaction, 'one of that network')
  return payerContradiction(body, payment)
}

function payerContradiction(
  body: Readonly<Record<string, unknown>>,
  { payer }: DecodedPayment,
): Error | null {
  const named = textIn(body, 'payer')
  return named === '' || spelled(named) === spelled(payer)
    ? null
    : contradiction('payer', named, payer)
}

function contradiction(what: string, said: string, asked: string): Error {
  return new Error(`says ${what} ${code(said) || '(none)'}, asked for ${asked}`)
}

/** Hexadecimal may be written in any case, base58 may not. */
function spelled(text: string): string {
  return /^0x/i.test(text) ? text.toLowerCase() : text
}

function isTransaction(text: string, network: string): boolean {
  if (!network.startsWith('solana:')) return /^0x[0-9a-fA-F]{64}$/.test(text)
  return /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(text) && isSignature(text)
}

function namesTransaction({ body }: FacilitatorReply): boolean {
  return body !== null && textIn(body, 'transaction') !== ''
}

/** The transaction that a reply names, where it has the form of one of that network. */
function transactionIn(
  { body }: FacilitatorReply,
  { requirement: { wire } }: DecodedPayment,
): string | null {
  const transaction = body === null ? '' : textIn(body, 'transaction')
  return isTransaction(transaction, wire.network) ? transaction : null
}

/** What a buyer can expect of trying again. */
function prospect({ status, retryAfterSeconds }: FacilitatorReply) {
  if (LASTING.has(status)) return { isLasting: true } as const
  if (NOT_SERVED.has(status)) return { retryAfterSeconds: NOT_SERVED_RETRY_SECONDS }
  return retryAfterSeconds === null ? {} : { retryAfterSeconds }
}

/** Not we are refused, but this payer: every other payment is taken, and this one shall not be taken elsewhere. */
function isScreened(reply: FacilitatorReply): boolean {
  return reply.status === 403 && !namesTransaction(reply) && SCREENED.test(reply.excerpt)
}

/** Whether a body that is a verdict is one about the payment, and not about us or the service. */
function isVerdict(status: number): boolean {
  return status < 500 && status !== 401 && status !== 403 && status !== 429
}

function isOk(status: number): boolean {
  return status >= 200 && status < 300
}

function unexpected({ status, excerpt }: FacilitatorReply): Error {
  return new Error(`status ${status}: ${excerpt}`)
}

function textIn(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name]
  return typeof value === 'string' ? value : ''
}

/** A facilitator's text as a bounded code of safe characters. */
function code(text: string): string {
  return text.slice(0, REASON_CHARS_MAX).replace(/[^\w.:-]+/g, '_')
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve))
}

function neverConnected(cause: unknown): boolean {
  const { code, syscall } = innerOf(cause)
  return code === 'ECONNREFUSED' || syscall === 'connect' || CONNECT_FAILURES.has(String(code))
}

/** `fetch` says only that it failed; what happened stands in the cause of its error. */
function reasonOf(cause: unknown): string {
  const { code } = innerOf(cause)
  return code === undefined ? nodeReason(cause) : `${nodeReason(cause)} (${String(code)})`
}

function innerOf(cause: unknown): Readonly<Record<string, unknown>> {
  return cause instanceof Error && isRecord(cause.cause) ? cause.cause : {}
}

/** A service may repeat in its refusal what it refuses. */
function withoutSecret(reason: string, authorization: string | undefined): string {
  if (authorization === undefined) return reason
  return [authorization, ...authorization.split(' ')]
    .filter((part) => part.length >= SECRET_CHARS_MIN)
    .reduce((text, part) => text.replaceAll(part, '(authorization)'), reason)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
