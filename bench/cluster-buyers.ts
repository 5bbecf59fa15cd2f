import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { PRICE } from '../test/support/killed-sales.ts'
import { fromElsewhere } from '../test/support/service.ts'

const PATH = '/pulse/BTC'
const REPEAT_AFTER_MS = 200
const REPEATED_MS_MAX = 60_000

export type Seller = { readonly url: string }

/** An answer, or why there is none; status 0 without a reply. */
export type Reply = { readonly status: number; readonly text: string }

/** Members of a refusal that matter to a buyer; null for what is not JSON. */
export type Refused = { readonly code: string | null; readonly charged: boolean | null }

export async function buy({ url }: Seller, payment: string): Promise<Reply> {
  const headers = { 'payment-signature': payment }
  try {
    const reply = await fromElsewhere()(url + PATH, { headers })
    return { status: reply.status, text: await reply.text() }
  } catch {
    return { status: 0, text: '' }
  }
}

/** Repeats until the payment has its answer, for as long as it is valid. */
export async function answerOf(gateway: Seller, payment: string): Promise<Reply> {
  const untilMs = performance.now() + REPEATED_MS_MAX
  let reply = await buy(gateway, payment)
  while (reply.status !== 200 && performance.now() < untilMs) {
    await wait(REPEAT_AFTER_MS)
    reply = await buy(gateway, payment)
  }
  return reply
}

export function refusedBy({ text }: Reply): Refused {
  try {
    const { code, charged } = JSON.parse(text) as Partial<Refused>
    return { code: code ?? null, charged: charged ?? null }
  } catch {
    return { code: null, charged: null }
  }
}

/** What the transport of a public client did with its payment. */
export type ClientPurchase = { readonly isAnswered: boolean; readonly repetitions: number }

/**
 * Buys once as `@x402/fetch` does, which signs one payment for a call and sends it once. The transport below it sends a
 * request without an answer again, with the same payment, once and to the other gateway.
 */
export async function buyByPublicClient(
  chain: EvmChain,
  gateway: Seller,
  alternative: Seller,
): Promise<ClientPurchase> {
  const signer = newBuyer()
  await chain.fundUsdc(signer.address, PRICE)
  let repetitions = 0
  const speak = fromElsewhere()
  const transport: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const again = new Request(request.url.replace(gateway.url, alternative.url), request.clone())
    const reply = await complete(speak(request))
    if (reply !== null && reply.status < 500) return reply
    if (request.headers.has('payment-signature')) repetitions += 1
    return speak(again)
  }
  const client = registerExactEvmScheme(new x402Client(), { signer })
  const reply = await complete(wrapFetchWithPayment(transport, client)(gateway.url + PATH))
  return { isAnswered: reply?.status === 200, repetitions }
}

/** @returns the reply with its whole body; null if the connection ended before that */
async function complete(pending: Promise<Response>): Promise<Response | null> {
  try {
    const reply = await pending
    return new Response(await reply.arrayBuffer(), { status: reply.status, headers: reply.headers })
  } catch {
    return null
  }
}

/** USDC of the seller, in atomic units. */
export function received(chain: EvmChain): Promise<bigint> {
  return chain.balanceOf(chain.accounts.merchant.address)
}

/** A payment is signed when it is needed, because it is valid for two minutes. */
export async function inParallel(
  width: number,
  count: number,
  task: (at: number) => Promise<void>,
): Promise<void> {
  let begun = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (begun < count) {
        begun += 1
        await task(begun - 1)
      }
    }),
  )
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
