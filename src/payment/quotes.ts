import type { FastifyRequest } from 'fastify'
import type { BufferedResponse } from './buffered-response.ts'
import type { OfferReceipts } from './extensions/offer-receipt.ts'
import type { Rejection } from './rejection.ts'
import { resourceUrl } from './resource.ts'
import type { Quoted, Terms } from './terms.ts'

export type QuotesOptions = {
  readonly publicUrl: string
  /** A new secret for each quote, of `SECRET_CHARS`. */
  readonly newSecret: () => string
  /** Signs offers; null without a receipt key. */
  readonly receipts: OfferReceipts | null
}

/** Writes the 402 response of one request. */
export class Quotes {
  readonly #options: QuotesOptions

  constructor(options: QuotesOptions) {
    this.#options = options
  }

  quote(request: FastifyRequest, terms: Terms, rejected?: Rejection): BufferedResponse {
    return terms.quote({
      ...this.#quoted(request, terms),
      ...(rejected === undefined ? {} : { rejected }),
    })
  }

  /** A quote with signed offers; without a receipt key, the plain quote. */
  async signedQuote(request: FastifyRequest, terms: Terms): Promise<BufferedResponse> {
    const quoted = this.#quoted(request, terms)
    const { receipts } = this.#options
    if (receipts === null) return terms.quote(quoted)
    const ways = terms.offered()
    const signed = await receipts.offers(quoted.resourceUrl, ways)
    const answer = terms.quote({ ...quoted, offers: { ways, signed } })
    return { ...answer, headers: { ...answer.headers, 'preference-applied': 'signed-offer' } }
  }

  #quoted(request: FastifyRequest, { route }: Terms): Quoted {
    return {
      resourceUrl: resourceUrl(request, this.#options.publicUrl),
      secret: this.#options.newSecret(),
      ...(route.extensionsOf && { extensions: route.extensionsOf(request) }),
    }
  }
}
