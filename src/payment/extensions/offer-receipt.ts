import { createHash } from 'node:crypto'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { BoundedMap } from '../../domain/bounded-map.ts'
import type { Clock } from '../../domain/clock.ts'
import { contentReceiptTypes, receiptDomain, receiptTypes } from '../../domain/receipt-types.ts'
import type { DecodedPayment, Requirement } from '../payment.ts'

/**
 * Extension `offer-receipt` in its EIP-712 form: our signatures of offered terms and of receipts, by which a buyer can
 * prove both.
 */
export const OFFER_RECEIPT = 'offer-receipt'

/** Signed terms for one resource and payment method. */
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

type ReceiptPayload = {
  readonly version: number
  /** CAIP-2. */
  readonly network: string
  readonly resourceUrl: string
  readonly payer: string
  /** Unix time in seconds. */
  readonly issuedAt: number
  readonly transaction: string
}

type SignedReceipt = {
  readonly format: 'eip712'
  readonly payload: ReceiptPayload
  readonly signature: Hex
}

/** The same facts with the answer, in a second signature, so that verifiers of version 1 read an unchanged receipt. */
type ContentReceipt = {
  readonly format: 'eip712'
  readonly payload: ReceiptPayload & {
    /** SHA-256 of the body of the answer without content coding. */
    readonly contentHash: Hex
  }
  readonly signature: Hex
}

/** `info` of the extension in a receipt header. */
export type ReceiptInfo = {
  readonly receipt: SignedReceipt
  /** Missing in a response without a body. */
  readonly contentReceipt?: ContentReceipt
}

type OffersOfOneCall = { readonly untilSeconds: number; readonly signed: Promise<SignedOffer[]> }

/** Time for a decision; prices change at a restart only. */
const OFFER_SECONDS = 600
/** Minimum remaining validity of an offer that is sent. */
const OFFER_LEFT_SECONDS_MIN = 300
const OFFERS_KEPT_MAX = 1_000
const RECEIPTS_KEPT_MAX = 1_000
const PAYLOAD_VERSION = 1
const CONTENT_RECEIPT_VERSION = 2

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

/** Signs offers and receipts on request and caches them, because a signature costs about as much as twenty quotes. */
export class OfferReceipts {
  readonly #account: ReturnType<typeof privateKeyToAccount>
  readonly #clock: Clock
  readonly #offers = new BoundedMap<string, OffersOfOneCall>(OFFERS_KEPT_MAX)
  readonly #receipts = new BoundedMap<string, Promise<ReceiptInfo>>(RECEIPTS_KEPT_MAX)

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
    const asked = requirements.map(
      ({ method: { scheme, network }, amount }) => `${scheme} ${network} ${amount}`,
    )
    const id = [resourceUrl, ...asked].join(' ')
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

  /**
   * Copies of one payment get the same receipts while they are cached.
   * @param content body of the answer; empty in a response without one
   */
  receipt(payment: DecodedPayment, transaction: string, content: Uint8Array): Promise<ReceiptInfo> {
    const id = `${payment.hash} ${transaction} ${content.length > 0}`
    const held = this.#receipts.get(id)
    if (held !== undefined) return held
    const signed = this.#receipt(payment, transaction, content)
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

  async #receipt(
    { requirement, resourceUrl, payer }: DecodedPayment,
    transaction: string,
    content: Uint8Array,
  ): Promise<ReceiptInfo> {
    const { network } = requirement.method
    const facts = { network, resourceUrl, payer, issuedAt: this.#nowSeconds(), transaction }
    const receipt = await this.#signed({ version: PAYLOAD_VERSION, ...facts }, receiptTypes)
    if (content.length === 0) return { receipt }
    const contentHash: Hex = `0x${createHash('sha256').update(content).digest('hex')}`
    const payload = { version: CONTENT_RECEIPT_VERSION, ...facts, contentHash }
    return { receipt, contentReceipt: await this.#signed(payload, contentReceiptTypes) }
  }

  async #signed<Payload extends ReceiptPayload>(
    payload: Payload,
    types: typeof receiptTypes | typeof contentReceiptTypes,
  ) {
    const signature = await this.#account.signTypedData({
      domain: receiptDomain,
      types: types as typeof receiptTypes,
      primaryType: 'Receipt',
      message: {
        ...payload,
        version: BigInt(payload.version),
        issuedAt: BigInt(payload.issuedAt),
      },
    })
    return { format: 'eip712' as const, payload, signature }
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.nowMs() / 1_000)
  }
}

/**
 * Whether a caller requests signed offers: `Prefer: signed-offer` (RFC 7240). The extension defines no request, and
 * signatures double the header.
 */
export function prefersSignedOffer(prefer: string | string[] | undefined): boolean {
  return /(^|,)\s*signed-offer\s*(;|,|$)/i.test(String(prefer ?? ''))
}
