import { FacilitatorTimeoutError, HTTPFacilitatorClient } from '@x402/core/http'
import type { SettleResponse, SupportedResponse } from '@x402/core/types'
import { SettleError, VerifyError } from '@x402/core/types'
import { nodeReason } from '../node-error.ts'
import type { Facilitator, Outcome, Settlement, SignedPayment, Verification } from '../payment.ts'

export type HttpFacilitatorOptions<P extends SignedPayment> = {
  readonly url: string
  /** Without it the outcome of a settlement whose reply was lost can only be asked for by settling again. */
  readonly outcome?: (payment: P) => Promise<Outcome>
  /** Value of the `Authorization` header, such as `Bearer …`. */
  readonly authorization?: string
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

export interface HttpFacilitator<P extends SignedPayment> extends Facilitator<P> {
  /** What it can do, by its own word. @throws Error whose message holds no secret */
  supported(): Promise<SupportedResponse>
}

/** The SDK's default is 90 s, longer than any buyer waits. */
export const callBounds: CallBounds = { verifyMsMax: 5_000, settleMsMax: 8_000 }

const SUPPORTED_MS_MAX = 5_000
/** Said before anything is acted upon. Not 408 and 409: there an attempt may be under way. */
const NEVER_BEGUN = new Set([400, 401, 402, 403, 404, 405, 413, 415, 422, 429])
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
/** Why a wallet is not served, whoever asks for it. */
const SCREENED = /kyt|sanction|aml_|high_risk/i
const DECLINED = 'payer_declined'
/** Shorter parts of a header are words such as `Bearer`. */
const SECRET_CHARS_MIN = 8
const CONNECT_FAILURES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** A facilitator service, such as a hosted one, by the protocol's own HTTP interface. */
export function httpFacilitator<P extends SignedPayment>(
  options: HttpFacilitatorOptions<P>,
): HttpFacilitator<P> {
  const { outcome, authorization, bounds = callBounds, onCall = () => undefined } = options
  const client = (timeoutMs: number) =>
    new HTTPFacilitatorClient({ ...clientOf(options), timeoutMs })
  const verifier = client(bounds.verifyMsMax)
  const settler = client(bounds.settleMsMax)
  const examiner = client(Math.min(SUPPORTED_MS_MAX, bounds.verifyMsMax))

  /** Tells how the call went, and in words that may be logged why it failed. */
  function failed(cause: unknown, isAboutUs = statusOf(cause) === 401): string {
    const reason = withoutSecret(reasonOf(cause), authorization)
    onCall({ kind: isAboutUs ? 'refused' : 'failed', reason })
    return reason
  }

  return {
    async verify(payment): Promise<Verification> {
      let verification: Verification
      try {
        const answer = await verifier.verify(payment.wire, payment.requirement.wire)
        verification = answer.isValid ? { kind: 'valid' } : invalid(answer.invalidReason)
      } catch (cause) {
        if (isScreened(cause)) verification = invalid(DECLINED)
        else if (cause instanceof VerifyError && isVerdict(cause.statusCode))
          verification = invalid(cause.invalidReason)
        else return { kind: 'unreachable', reason: failed(cause) }
      }
      onCall(
        verification.kind === 'unreachable'
          ? { kind: 'failed', reason: verification.reason }
          : { kind: 'answered' },
      )
      return verification
    },

    async settle(payment): Promise<Settlement> {
      try {
        const answer = await settler.settle(payment.wire, payment.requirement.wire)
        onCall(callOf(answer.errorReason))
        return settlementOf(answer, payment)
      } catch (cause) {
        if (cause instanceof SettleError && isVerdict(cause.statusCode)) {
          onCall(callOf(cause.errorReason))
          return settlementOf({ success: false, ...pick(cause) }, payment)
        }
        if (isScreened(cause)) {
          onCall({ kind: 'answered' })
          return settlementOf({ success: false, transaction: '', errorReason: DECLINED }, payment)
        }
        const reason = failed(cause)
        return surelyNotBegun(cause)
          ? { kind: 'unreachable', reason }
          : { kind: 'unknown', reason, transaction: transactionOf(cause) }
      }
    },

    async outcome(payment): Promise<Outcome> {
      return outcome === undefined
        ? { kind: 'unknown', reason: 'no RPC URL is configured' }
        : outcome(payment)
    },

    async supported(): Promise<SupportedResponse> {
      try {
        return await examiner.getSupported()
      } catch (cause) {
        const status = statusOf(cause)
        throw new Error(failed(cause, status === 401 || status === 403))
      }
    },
  }
}

function clientOf({ url, authorization }: { url: string; authorization?: string }) {
  if (authorization === undefined) return { url }
  const headers = { authorization }
  return {
    url,
    createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
  }
}

/** What a facilitator blames itself for, or claimed at boot to be able to do, is not the buyer's fault. */
function invalid(reason = 'unexpected_verify_error'): Verification {
  const isOurs =
    reason === 'unexpected_verify_error' ||
    /^(unsupported|invalid)_(scheme|network|x402_version)/.test(reason)
  return { kind: isOurs ? 'unreachable' : 'invalid', reason }
}

function callOf(errorReason: string | undefined): FacilitatorCall {
  return errorReason === 'unexpected_settle_error'
    ? { kind: 'failed', reason: errorReason }
    : { kind: 'answered' }
}

function settlementOf(
  answer: Pick<SettleResponse, 'success' | 'transaction'> & { errorReason?: string | undefined },
  { requirement }: SignedPayment,
): Settlement {
  const { success, transaction, errorReason: reason = 'unexpected_settle_error' } = answer
  if (success) {
    return transaction === '' && requirement.wire.scheme === 'exact'
      ? { kind: 'unknown', reason: 'settled, and in no transaction', transaction: null }
      : { kind: 'settled', transaction, isFinal: true }
  }
  return transaction === '' && NEVER_SENT.test(reason)
    ? { kind: 'rejected', reason }
    : { kind: 'unknown', reason, transaction: transaction === '' ? null : transaction }
}

/** Not we are refused, but this payer: every other payment is taken, and this one shall not be taken elsewhere. */
function isScreened(cause: unknown): boolean {
  return statusOf(cause) === 403 && transactionOf(cause) === null && SCREENED.test(reasonOf(cause))
}

/** Whether a body that is a verdict is one about the payment, and not about us or the service. */
function isVerdict(status: number): boolean {
  return status < 500 && status !== 401 && status !== 403 && status !== 429
}

/** Every doubt counts as begun. */
function surelyNotBegun(cause: unknown): boolean {
  if (cause instanceof FacilitatorTimeoutError || transactionOf(cause) !== null) return false
  const status = statusOf(cause)
  return status === null ? neverConnected(cause) : NEVER_BEGUN.has(status)
}

/** The SDK tells a status without a verdict in the words of its message only. */
function statusOf(cause: unknown): number | null {
  if (cause instanceof SettleError || cause instanceof VerifyError) return cause.statusCode
  const [, digits] =
    /^Facilitator \w+ failed \((\d{3})\)/.exec(cause instanceof Error ? cause.message : '') ?? []
  return digits === undefined ? null : Number(digits)
}

function pick({ transaction, errorReason }: SettleError) {
  return { transaction: transaction ?? '', errorReason }
}

function transactionOf(cause: unknown): string | null {
  return cause instanceof SettleError ? cause.transaction || null : null
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
