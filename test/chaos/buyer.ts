import type { PrivateKeyAccount } from 'viem/accounts'
import type { Clock } from '../../src/domain/clock.ts'
import { encodedPayment, signedPayload } from '../../src/payment/testing/buyer.ts'
import type { Chance } from '../simulation/chance.ts'
import type { Given } from './books.ts'

export type Reply =
  | { readonly kind: 'given'; readonly answer: Given }
  /** 402: sign another payment, or give up. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** Send the same payment again. */
  | { readonly kind: 'again'; readonly detail: string }
  /** The connection broke or the buyer closed it: send the same payment again. */
  | { readonly kind: 'lost'; readonly detail: string }
  /** The service is down. */
  | { readonly kind: 'down'; readonly detail: string }

/** One purchase at the service, and the behaviour of its buyer. */
export type PurchaseOptions = {
  readonly id: string
  readonly url: string
  readonly wallet: PrivateKeyAccount
  readonly payTo: `0x${string}`
  readonly priceUsdcAtomic: bigint
  readonly lifetimeSeconds: number
  /** Time, by {@link servedMs}, after which an unfinished payment counts as endless. */
  readonly patienceMs: number
  readonly clock: Clock
  /** Total time in which the service was up. */
  readonly servedMs: () => number
  readonly chance: Chance
  readonly onSigned: (nonce: string) => void
  readonly onReply: (nonce: string, reply: Reply) => Promise<void>
  readonly onEndless: (nonce: string) => void
}

export type SignedPurchase = {
  readonly header: string
  readonly nonce: string
  /** Total uptime of the service by then. */
  readonly servedMsBefore: number
}

const ANSWER_MS_MAX = 15_000
/** Pause between two attempts; it grows with each. */
const PAUSE_MS_MAX = 1_000
const PAYMENTS_MAX = 6
/** Consecutive refusals after which a hasty buyer gives up. */
const REFUSALS_BELIEVED = 3

/** Like the public clients: one request at a time, and a new payment after a 402. */
export async function buyCarefully(options: PurchaseOptions): Promise<readonly SignedPurchase[]> {
  const signed: SignedPurchase[] = []
  while (signed.length < PAYMENTS_MAX) {
    const payment = await sign(options)
    signed.push(payment)
    for (let attempt = 1; ; attempt += 1) {
      const reply = await send(options, payment, ANSWER_MS_MAX)
      if (reply.kind === 'given') {
        if (options.chance.is(0.2)) await send(options, payment, ANSWER_MS_MAX)
        return signed
      }
      if (reply.kind === 'refused') break
      if (isLate(options, payment)) return signed
      await pause(options, attempt)
    }
  }
  return signed
}

/** Sends copies concurrently, closes connections early, and never signs twice. */
export async function buyHastily(options: PurchaseOptions): Promise<readonly SignedPurchase[]> {
  const { chance } = options
  const payment = await sign(options)
  let refusals = 0
  for (let attempt = 1; ; attempt += 1) {
    const copies = Array.from({ length: chance.integer(1, 4) }, () =>
      send(options, payment, chance.is(0.3) ? chance.between(1, 150) : ANSWER_MS_MAX),
    )
    const replies = await Promise.all(copies)
    if (replies.some(({ kind }) => kind === 'given')) {
      if (chance.is(0.3)) await send(options, payment, ANSWER_MS_MAX)
      return [payment]
    }
    if (replies.some(({ kind }) => kind === 'refused')) refusals += 1
    else if (replies.some(({ kind }) => kind === 'again')) refusals = 0
    if (refusals === REFUSALS_BELIEVED) return [payment]
    if (isLate(options, payment)) return [payment]
    await pause(options, attempt)
  }
}

/** Sends a payment once and reports the reply before returning it. */
export async function send(
  { url, id, onReply }: Pick<PurchaseOptions, 'url' | 'id' | 'onReply'>,
  { header, nonce }: SignedPurchase,
  patienceMs: number,
): Promise<Reply> {
  const reply = await replyTo(`${url}/answers/${id}`, header, patienceMs)
  await onReply(nonce, reply)
  return reply
}

async function replyTo(url: string, header: string, patienceMs: number): Promise<Reply> {
  try {
    const response = await fetch(url, {
      headers: { 'payment-signature': header },
      signal: AbortSignal.timeout(Math.ceil(patienceMs)),
    })
    const text = await response.text()
    const { status } = response
    if (status === 200) {
      const receipt = Buffer.from(response.headers.get('payment-response') ?? '', 'base64')
      const { transaction } = JSON.parse(receipt.toString()) as { transaction: string }
      return { kind: 'given', answer: { text, transaction } }
    }
    const detail = `${status} ${text.slice(0, 300)}`
    return { kind: status === 402 ? 'refused' : 'again', detail }
  } catch (cause) {
    const { name, cause: inner } = cause instanceof Error ? cause : new Error(String(cause))
    const code = inner instanceof Error && 'code' in inner ? String(inner.code) : name
    return { kind: code === 'ECONNREFUSED' ? 'down' : 'lost', detail: code }
  }
}

async function sign(options: PurchaseOptions): Promise<SignedPurchase> {
  const { wallet, payTo, priceUsdcAtomic: amount, lifetimeSeconds, clock } = options
  const { servedMs, onSigned } = options
  const nowMs = clock.nowMs()
  const validBeforeSeconds = BigInt(Math.floor(nowMs / 1_000) + lifetimeSeconds)
  const payload = await signedPayload(wallet, { amount, payTo, nowMs, validBeforeSeconds })
  const { nonce } = payload.payload.authorization
  onSigned(nonce)
  return { header: encodedPayment(payload), nonce, servedMsBefore: servedMs() }
}

function isLate(
  { servedMs, patienceMs, onEndless }: PurchaseOptions,
  { servedMsBefore, nonce }: SignedPurchase,
): boolean {
  if (servedMs() - servedMsBefore < patienceMs) return false
  onEndless(nonce)
  return true
}

function pause({ clock, chance }: PurchaseOptions, attempt: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(Math.min(PAUSE_MS_MAX, chance.between(20, 100) * attempt), resolve)
  })
}
