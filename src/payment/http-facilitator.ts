import { FacilitatorTimeoutError, HTTPFacilitatorClient } from '@x402/core/http'
import type { SettleResponse } from '@x402/core/types'
import { SettleError, VerifyError } from '@x402/core/types'
import { nodeReason } from './node-error.ts'
import type { Facilitator, Outcome, Settlement, SignedPayment, Verification } from './payment.ts'

export type HttpFacilitatorOptions<P extends SignedPayment> = {
  readonly url: string
  /** Without it the outcome of a settlement whose reply was lost can only be asked for by settling again. */
  readonly outcome?: (payment: P) => Promise<Outcome>
  /** Value of the `Authorization` header, such as `Bearer …`. */
  readonly authorization?: string
}

/** The SDK's default is 90 s, longer than any buyer waits. */
const REQUEST_MS_MAX = 8_000

/** A facilitator service, such as a hosted one, by the protocol's own HTTP interface. */
export function httpFacilitator<P extends SignedPayment>(
  options: HttpFacilitatorOptions<P>,
): Facilitator<P> {
  const { url, outcome, authorization } = options
  const service = new HTTPFacilitatorClient({
    url,
    timeoutMs: REQUEST_MS_MAX,
    ...(authorization === undefined
      ? {}
      : { createAuthHeaders: async () => same({ authorization }) }),
  })

  return {
    async verify(payment): Promise<Verification> {
      try {
        const answer = await service.verify(payment.wire, payment.requirement.wire)
        return answer.isValid ? { kind: 'valid' } : invalid(answer.invalidReason)
      } catch (cause) {
        return cause instanceof VerifyError && cause.statusCode < 500
          ? invalid(cause.invalidReason)
          : { kind: 'unreachable', reason: nodeReason(cause) }
      }
    },

    async settle(payment): Promise<Settlement> {
      try {
        return settlementOf(await service.settle(payment.wire, payment.requirement.wire))
      } catch (cause) {
        return failureOf(cause)
      }
    },

    async outcome(payment): Promise<Outcome> {
      return outcome === undefined
        ? { kind: 'unknown', reason: 'no RPC URL is configured' }
        : outcome(payment)
    },
  }
}

/** One set of headers for every operation. */
function same(headers: Record<string, string>) {
  return { verify: headers, settle: headers, supported: headers }
}

function invalid(reason = 'unexpected_verify_error'): Verification {
  return { kind: reason === 'unexpected_verify_error' ? 'unreachable' : 'invalid', reason }
}

function settlementOf(
  answer: Pick<SettleResponse, 'success' | 'transaction'> & { errorReason?: string | undefined },
): Settlement {
  const { success, transaction, errorReason: reason = 'unexpected_settle_error' } = answer
  if (success) return { kind: 'settled', transaction }
  return reason === 'settlement_pending' || reason === 'unexpected_settle_error'
    ? { kind: 'unknown', reason, transaction: transaction === '' ? null : transaction }
    : { kind: 'rejected', reason }
}

/** Only a request that surely was not acted upon is `unreachable`; every doubt is `unknown`. */
function failureOf(cause: unknown): Settlement {
  const reason = nodeReason(cause)
  if (cause instanceof SettleError && cause.statusCode < 500) {
    return settlementOf({ success: false, ...pick(cause) })
  }
  if (cause instanceof SettleError) return { kind: 'unknown', reason, ...transactionOf(cause) }
  if (cause instanceof FacilitatorTimeoutError)
    return { kind: 'unknown', reason, transaction: null }
  return neverConnected(cause) || /^Facilitator settle failed \(4\d\d\)/.test(reason)
    ? { kind: 'unreachable', reason }
    : { kind: 'unknown', reason, transaction: null }
}

function pick({ transaction, errorReason }: SettleError) {
  return { transaction: transaction ?? '', errorReason }
}

function transactionOf({ transaction }: SettleError): { readonly transaction: string | null } {
  return { transaction: transaction === '' ? null : transaction }
}

function neverConnected(cause: unknown): boolean {
  const code = cause instanceof Error && isRecord(cause.cause) ? cause.cause['code'] : undefined
  return (
    code === 'ECONNREFUSED' ||
    code === 'ENOTFOUND' ||
    code === 'EAI_AGAIN' ||
    code === 'UND_ERR_CONNECT_TIMEOUT'
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
