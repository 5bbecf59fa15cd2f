import { isSignature } from '@solana/keys'
import type { SupportedResponse } from '@x402/core/types'
import type { Clock } from '../../domain/clock.ts'
import { isRecord } from '../../domain/json.ts'
import { nodeReason } from '../node-error.ts'
import type {
  DecodedPayment,
  Facilitator,
  Outcome,
  Settlement,
  Unreachable,
  Verification,
} from '../payment.ts'
import { canonicalCase } from '../requirement.ts'
import { forwardedPayload } from '../wire-payload.ts'
import type { FacilitatorQuery, FacilitatorReply } from './facilitator-client.ts'
import { askFacilitator } from './facilitator-client.ts'
import { readSupported } from './supported.ts'

export type HttpFacilitatorOptions<P extends DecodedPayment> = {
  readonly url: string
  /** Without it, a lost settlement reply is resolved by settling again. */
  readonly outcome?: (payment: P) => Promise<Outcome>
  /** Value of the `Authorization` header, such as `Bearer …`. */
  readonly authorization?: string
  /** For call time-outs. */
  readonly clock: Clock
  readonly bounds?: CallBounds
  /** Gets the result of every call. */
  readonly onCall?: (call: FacilitatorCall) => void
}

export type CallBounds = { readonly verifyMsMax: number; readonly settleMsMax: number }

/** Result of a call as a service, independent of the payment. */
export type FacilitatorCall =
  | { readonly kind: 'answered' }
  /** No valid answer. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Our authorization was rejected. */
  | { readonly kind: 'refused'; readonly reason: string }

export interface HttpFacilitator<P extends DecodedPayment> extends Facilitator<P> {
  /**
   * Supported kinds.
   * @throws Error whose message contains no secret
   */
  supported(): Promise<SupportedResponse>
}

/** Shorter than the wait of any buyer. */
export const callBounds: CallBounds = { verifyMsMax: 5_000, settleMsMax: 8_000 }

/** The outcome of every payment without a node. */
export const noOutcomeNode: Outcome = {
  kind: 'unknown',
  reason: 'no RPC URL is configured',
  isLasting: true,
}

/** Version 2 is used for facilitators, whatever version the buyer uses. */
const X402_VERSION = 2
const SUPPORTED_MS_MAX = 5_000
const SUPPORTED_AGAIN_MS = 1_000
/** A verdict has a few hundred bytes. */
const VERDICT_BYTES_MAX = 65_536
/** Some support a hundred chains by several schemes in both versions. */
const SUPPORTED_BYTES_MAX = 262_144
/** A code that is logged and sent in a header. */
const REASON_CHARS_MAX = 80
/** Retry after a rejected authorization. */
const NOT_SERVED_RETRY_SECONDS = 60
/** Statuses without any effect. Not 408 and 409: an attempt can be in progress. */
const NEVER_BEGUN = new Set([400, 401, 402, 403, 404, 405, 413, 415, 422, 429])
/** Of these, permanent rejections of this payment. */
const LASTING = new Set([400, 413, 415, 422])
/** Of these, rejections of our account until an operator acts. */
const NOT_SERVED = new Set([401, 402, 403, 404, 405])
/**
 * Parts of reasons that precede sending. After any other reason, such as a failed or timed-out transaction, the
 * transfer can still be mined.
 */
const NEVER_SENT = new RegExp(
  [
    'insufficient|simulation_failed|valid_(before|after)|(payment|authorization)_expired|nonce|duplicate',
    '_payload|^invalid_\\w*signature|parse_signature|missing_|unsupported|not_supported|requirements|declined',
    '(value|amount|recipient|mint|memo|network|scheme|fee_payer|token_name|token_version)(_mismatch|$)',
  ].join('|'),
)
/** Contradicts `/supported`, so the buyer is not at fault. */
const UNSUPPORTED = /^(unsupported|invalid)_(scheme|network|x402_version)/
/** Compliance screening rejected the wallet. */
const SCREENED = /kyt|sanction|aml_|high_risk/i
const DECLINED = 'payer_declined'
/** Shorter parts of the header are words such as `Bearer`. */
const SECRET_CHARS_MIN = 8
const CONNECT_FAILURES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** A facilitator over the HTTP interface of x402. */
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

  /**
   * Reports a failed call.
   * @returns its reason without secrets
   */
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
        // Only a positive answer must match the payment: a refusal moves no money.
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
          return { kind: 'unknown', reason: 'settled without a transaction', transaction }
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
      return outcome === undefined ? noOutcomeNode : outcome(payment)
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
        // At the start it is asked only once.
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

/** How the answer contradicts the payment, or null. */
function settlementContradiction(
  body: Readonly<Record<string, unknown>>,
  payment: DecodedPayment,
): Error | null {
  const { wire, method } = payment.requirement
  const network = textIn(body, 'network')
  // A refusal can omit it; some use the name of version 1.
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
    return contradiction('transaction', transaction, 'a transaction of that network')
  return payerContradiction(body, payment)
}

function payerContradiction(
  body: Readonly<Record<string, unknown>>,
  { payer }: DecodedPayment,
): Error | null {
  const named = textIn(body, 'payer')
  return named === '' || canonicalCase(named) === canonicalCase(payer)
    ? null
    : contradiction('payer', named, payer)
}

function contradiction(what: string, said: string, asked: string): Error {
  return new Error(`wrong ${what} in the answer: ${code(said) || '(none)'}; expected ${asked}`)
}

function isTransaction(text: string, network: string): boolean {
  if (!network.startsWith('solana:')) return /^0x[0-9a-fA-F]{64}$/.test(text)
  return /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(text) && isSignature(text)
}

function namesTransaction({ body }: FacilitatorReply): boolean {
  return body !== null && textIn(body, 'transaction') !== ''
}

/** The transaction of a reply, if it has the form of its network. */
function transactionIn(
  { body }: FacilitatorReply,
  { requirement: { wire } }: DecodedPayment,
): string | null {
  const transaction = body === null ? '' : textIn(body, 'transaction')
  return isTransaction(transaction, wire.network) ? transaction : null
}

/** When and whether a retry can succeed. */
function prospect({ status, retryAfterSeconds }: FacilitatorReply) {
  if (LASTING.has(status)) return { isLasting: true } as const
  if (NOT_SERVED.has(status)) return { retryAfterSeconds: NOT_SERVED_RETRY_SECONDS }
  return retryAfterSeconds === null ? {} : { retryAfterSeconds }
}

/** The payer is rejected, not we: the payment must not be sent to another facilitator. */
function isScreened(reply: FacilitatorReply): boolean {
  return reply.status === 403 && !namesTransaction(reply) && SCREENED.test(reply.excerpt)
}

/** Whether a body is a verdict about the payment, and not about us or the service. */
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

/** A code of bounded length and safe characters. */
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

/** `fetch` names the reason in the `cause` of its error. */
function reasonOf(cause: unknown): string {
  const { code } = innerOf(cause)
  return code === undefined ? nodeReason(cause) : `${nodeReason(cause)} (${String(code)})`
}

function innerOf(cause: unknown): Readonly<Record<string, unknown>> {
  return cause instanceof Error && isRecord(cause.cause) ? cause.cause : {}
}

/** A service can repeat the authorization in its error. */
function withoutSecret(reason: string, authorization: string | undefined): string {
  if (authorization === undefined) return reason
  return [authorization, ...authorization.split(' ')]
    .filter((part) => part.length >= SECRET_CHARS_MIN)
    .reduce((text, part) => text.replaceAll(part, '(authorization)'), reason)
}
