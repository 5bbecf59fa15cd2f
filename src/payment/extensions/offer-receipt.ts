import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import type { DecodedPayment, Requirement } from '../payment.ts'

/**
 * The extension `offer-receipt` in its EIP-712 form: our signature under what we ask, and under what was
 * bought. With the first a buyer can show later what it was promised, with the second that it was served.
 */
export const OFFER_RECEIPT = 'offer-receipt'

/** What we ask for one resource in one way to pay. */
export type SignedOffer = {
  readonly format: 'eip712'
  /** Index into `accepts`. */
  readonly acceptIndex: number
  readonly payload: {
    readonly version: number
    readonly resourceUrl: string
    readonly scheme: string
    /** CAIP-2. */
    readonly network: string
    readonly asset: string
    readonly payTo: string
    /** In atoms of the asset. */
    readonly amount: string
    /** Unix time in seconds. */
    readonly validUntil: number
  }
  readonly signature: Hex
}

export type SignedReceipt = {
  readonly format: 'eip712'
  readonly payload: {
    readonly version: number
    /** CAIP-2. */
    readonly network: string
    readonly resourceUrl: string
    readonly payer: string
    /** Unix time in seconds. */
    readonly issuedAt: number
    readonly transaction: string
  }
  readonly signature: Hex
}

type OffersOfOneCall = { readonly untilSeconds: number; readonly signed: Promise<SignedOffer[]> }

/** Long enough to think it over; our prices change with a new start at most. */
const OFFER_SECONDS = 600
/** An offer that is given out is good for at least this long. */
const OFFER_LEFT_SECONDS_MIN = 300
const OFFERS_KEPT_MAX = 1_000
const RECEIPTS_KEPT_MAX = 1_000
const PAYLOAD_VERSION = 1

const offerTypes = {
  Offer: [
    { name: 'version', type: 'uint256' },
    { name: 'resourceUrl', type: 'string' },
    { name: 'scheme', type: 'string' },
    { name: 'network', type: 'string' },
    { name: 'asset', type: 'string' },
    { name: 'payTo', type: 'string' },
    { name: 'amount', type: 'string' },
    { name: 'validUntil', type: 'uint256' },
  ],
} as const

const receiptTypes = {
  Receipt: [
    { name: 'version', type: 'uint256' },
    { name: 'network', type: 'string' },
    { name: 'resourceUrl', type: 'string' },
    { name: 'payer', type: 'string' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'transaction', type: 'string' },
  ],
} as const

/**
 * Signs offers and receipts. A signature costs about as much as twenty quotes, so it is made when it is asked
 * for, and kept: of the same offer until it nears its end, of the same receipt for as long as there is room.
 */
export class OfferReceipts {
  readonly #account: ReturnType<typeof privateKeyToAccount>
  readonly #clock: Clock
  readonly #offers = new BoundedMap<string, OffersOfOneCall>(OFFERS_KEPT_MAX)
  readonly #receipts = new BoundedMap<string, Promise<SignedReceipt>>(RECEIPTS_KEPT_MAX)

  constructor(options: { readonly key: Hex; readonly clock: Clock }) {
    this.#account = privateKeyToAccount(options.key)
    this.#clock = options.clock
  }

  /** Address that the signatures recover to. */
  get signer(): string {
    return this.#account.address
  }

  /** One offer for each requirement, in their order. */
  offers(resourceUrl: string, requirements: readonly Requirement[]): Promise<SignedOffer[]> {
    const nowSeconds = this.#nowSeconds()
    const asked = requirements.map(({ amount }) => amount).join()
    const id = `${resourceUrl} ${asked}`
    const held = this.#offers.get(id)
    if (held !== undefined && held.untilSeconds - nowSeconds >= OFFER_LEFT_SECONDS_MIN) {
      return held.signed
    }
    const untilSeconds = nowSeconds + OFFER_SECONDS
    const signed = Promise.all(
      requirements.map((requirement, index) =>
        this.#offer(index, requirement, resourceUrl, untilSeconds),
      ),
    )
    this.#offers.set(id, { untilSeconds, signed })
    return signed
  }

  /** The same for every copy of one payment, as long as it is remembered. */
  receipt(payment: DecodedPayment, transaction: string): Promise<SignedReceipt> {
    const id = `${payment.hash} ${transaction}`
    const held = this.#receipts.get(id)
    if (held !== undefined) return held
    const signed = this.#receipt(payment, transaction)
    this.#receipts.set(id, signed)
    return signed
  }

  async #offer(
    acceptIndex: number,
    { method, amount }: Requirement,
    resourceUrl: string,
    validUntil: number,
  ): Promise<SignedOffer> {
    const { scheme, network, asset, payTo } = method
    const terms = { resourceUrl, scheme, network, asset, payTo, amount: amount.toString() }
    const payload = { version: PAYLOAD_VERSION, ...terms, validUntil }
    const signature = await this.#account.signTypedData({
      domain: { name: 'x402 offer', version: '1', chainId: 1 },
      types: offerTypes,
      primaryType: 'Offer',
      message: { ...terms, version: BigInt(PAYLOAD_VERSION), validUntil: BigInt(validUntil) },
    })
    return { format: 'eip712', acceptIndex, payload, signature }
  }

  async #receipt(payment: DecodedPayment, transaction: string): Promise<SignedReceipt> {
    const { requirement, resourceUrl, payer } = payment
    const { network } = requirement.method
    const issuedAt = this.#nowSeconds()
    const facts = { network, resourceUrl, payer, transaction }
    const signature = await this.#account.signTypedData({
      domain: { name: 'x402 receipt', version: '1', chainId: 1 },
      types: receiptTypes,
      primaryType: 'Receipt',
      message: { ...facts, version: BigInt(PAYLOAD_VERSION), issuedAt: BigInt(issuedAt) },
    })
    const payload = { version: PAYLOAD_VERSION, ...facts, issuedAt }
    return { format: 'eip712', payload, signature }
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.nowMs() / 1_000)
  }
}

/**
 * Whether a caller asks for signed offers: `Prefer: signed-offer` (RFC 7240). The extension names no way of
 * asking, and most buyers have no use for signatures that double the header.
 */
export function prefersSignedOffer(prefer: string | string[] | undefined): boolean {
  return /(^|,)\s*signed-offer\s*(;|,|$)/i.test(String(prefer ?? ''))
}
