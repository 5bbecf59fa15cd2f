import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import type { FastifyInstance } from 'fastify'

/** A call of a paid path through MCP or A2A. */
export type InProcessCall = {
  /** Path and query. */
  readonly url: string
  /** As received: a payload, or its base64 form as in the header of HTTP. null for a quote. */
  readonly payment: unknown
  /** The caller's address, for the limits. */
  readonly address: string
}

export type CallResult =
  | {
      readonly kind: 'answer'
      readonly answer: Readonly<Record<string, unknown>>
      /** null if nothing was paid. */
      readonly receipt: SettleResponse | null
    }
  /** `rejection`: why the payment was refused; null without a payment. */
  | {
      readonly kind: 'payment-required'
      readonly required: PaymentRequired
      readonly rejection: Readonly<Record<string, unknown>> | null
    }
  /** Nothing was sold. */
  | { readonly kind: 'refused'; readonly problem: Readonly<Record<string, unknown>> }

/** Calls the HTTP path, so that checks, quote, payment and ledger are the same for every protocol. */
export async function callInProcess(
  app: FastifyInstance,
  { url, payment, address }: InProcessCall,
): Promise<CallResult> {
  const response = await app.inject({
    method: 'GET',
    url,
    remoteAddress: address,
    headers: payment === null ? {} : { 'payment-signature': headerOf(payment) },
  })
  const body = JSON.parse(response.body) as Readonly<Record<string, unknown>>
  if (response.statusCode === 200) {
    const receipt = response.headers['payment-response']
    return {
      kind: 'answer',
      answer: body,
      receipt: receipt === undefined ? null : parsed<SettleResponse>(receipt),
    }
  }
  const required = response.headers['payment-required']
  if (response.statusCode === 402 && required !== undefined) {
    const { diagnostics } = body as { diagnostics?: Readonly<Record<string, unknown>> }
    return {
      kind: 'payment-required',
      required: parsed<PaymentRequired>(required),
      rejection: diagnostics ?? null,
    }
  }
  return { kind: 'refused', problem: body }
}

/** The path refuses other values as malformed, and looks up those that it can read. */
function headerOf(payment: unknown): string {
  return typeof payment === 'string'
    ? payment
    : Buffer.from(JSON.stringify(payment)).toString('base64')
}

function parsed<T>(header: string | number | readonly string[]): T {
  return JSON.parse(Buffer.from(String(header), 'base64').toString()) as T
}
