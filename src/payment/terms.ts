import assert from 'node:assert/strict'
import type { PaymentRequirements, ResourceInfo } from '@x402/core/types'
import type { FastifyRequest } from 'fastify'
import { BoundedMap } from '../domain/bounded-map.ts'
import type { BufferedResponse } from './buffered-response.ts'
import { ANSWER_ACCESS, SECRET_CHARS } from './extensions/answer-access.ts'
import type { Extensions } from './extensions/extensions.ts'
import type { SignedOffer } from './extensions/offer-receipt.ts'
import { OFFER_RECEIPT } from './extensions/offer-receipt.ts'
import { paymentIdentifierOffer } from './extensions/payment-identifier.ts'
import type { CatalogueListing, PaymentMethod, Requirement } from './payment.ts'
import type { Rejection } from './rejection.ts'

/** Declared by a route as `config.x402`. */
export type PaidRoute = {
  readonly priceUsdcAtomic: bigint
  readonly description: string
  /** Parameters of the call for catalogues: name to a description or JSON schema. */
  readonly discovery?: {
    readonly pathParams?: Readonly<Record<string, unknown>>
    readonly queryParams?: Readonly<Record<string, unknown>>
  }
  /** Public data for catalogues of facilitators, such as `bazaar`; sent with every payment. */
  readonly catalogued?: Extensions
  /**
   * Extensions of the host about the answer that this call would buy now, most important first: a header that would be
   * too long omits the last ones. The same object until something changes, so that the quote is reused.
   */
  readonly extensionsOf?: (request: FastifyRequest) => Extensions
  /** Entity tag of the answer that this call would buy now; null if there is none. */
  readonly entityTagOf?: (request: FastifyRequest) => string | null
  /**
   * Identifies the document that this call buys: equal for all spellings of the call, different for every other
   * document, null for invalid parameters. Depends on the request only, because a repeated payment is recognised before
   * every other check.
   */
  readonly documentOf?: (request: FastifyRequest) => string | null
}

export type Terms = {
  readonly route: PaidRoute
  /** Accepted, and offered while ready. */
  readonly requirements: readonly Requirement[]
  /** Offered now. */
  offered(): readonly Requirement[]
  /** Also those that are no longer offered and can have bought an answer. */
  readonly known: readonly Requirement[]
  /** The 402: version 1 in the body, version 2 in `PAYMENT-REQUIRED`. */
  quote(quoted: Quoted): BufferedResponse
}

export type Quoted = {
  readonly resourceUrl: string
  /** Of this quote only: see `answer-access`. */
  readonly secret: string
  /** Extensions of the host; compared by identity. */
  readonly extensions?: Extensions
  /** Why a payment was rejected. */
  readonly rejected?: Rejection
  /** Sent on request, with the entries of `accepts` that they sign. */
  readonly offers?: {
    readonly ways: readonly Requirement[]
    readonly signed: readonly SignedOffer[]
  }
}

/** Time for a slow signer; bounds the use of a lost payment. */
const TIMEOUT_SECONDS_MAX = 120
const DESCRIPTION_CHARS_MAX = 500
/** Proxies buffer 4 to 8 KB of response headers; some clients accept 16 KB in all. */
const HEADER_BYTES_MAX = 4_095
/** Per route, about the number of coins; bounds the memory that made-up queries use. */
const QUOTES_KEPT_MAX = 256
export const RESOURCE_URL_CHARS_MAX = 700
const MIME_TYPE = 'application/json'
const nothing: Extensions = {}

/** The terms of one route. A quote is written once for each resource and state; requests differ in the secret only. */
export function termsOf(route: PaidRoute, methods: readonly PaymentMethod[]): Terms {
  assert(route.priceUsdcAtomic > 0n, 'a paid route has a price above zero')
  assert(
    route.description.length <= DESCRIPTION_CHARS_MAX,
    'the description is up to 500 characters',
  )
  const known = methods.map((method) => requirementOf(method, route.priceUsdcAtomic))
  const requirements = known.filter(({ method }) => method.isSuspended !== true)
  assert(requirements.length > 0, 'a paid route has at least one payment method')
  /** A method that cannot settle now is offered only if no other can. */
  const offered = (): readonly Requirement[] => {
    const ready = requirements.filter(({ method }) => (method.readiness?.() ?? null) === null)
    return ready.length === 0 ? requirements : ready
  }
  const stemFor = ({ resourceUrl, extensions, rejected, offers }: Contents) =>
    stemOf({
      x402Version: 2,
      error: rejected?.reason ?? 'payment_required',
      resource: resourceOf(route, resourceUrl),
      accepts: (offers?.ways ?? offered()).map((requirement) =>
        corrected(current(requirement), rejected),
      ),
      extensions: withSchemas({
        ...paymentIdentifierOffer,
        ...extensions,
        ...(offers === undefined ? {} : { [OFFER_RECEIPT]: { info: { offers: offers.signed } } }),
      }),
    })
  const bodyOf = ({ resourceUrl, rejected, offers }: Contents) => ({
    x402Version: 1,
    error: rejected === undefined ? 'payment_required' : 'payment_invalid',
    accepts: (offers?.ways ?? offered())
      .filter(({ method }) => method.legacyName !== null)
      .map((requirement) => legacyRequirement(requirement, route, resourceUrl)),
    ...(rejected === undefined ? {} : { diagnostics: diagnosticsOf(rejected) }),
  })
  /** Removes extensions of the host, last first, until the header fits. */
  const boundedStemFor = (quoted: Contents): HeaderStem => {
    const stem = stemFor(quoted)
    if (lengthWith(stem) <= HEADER_BYTES_MAX || quoted.offers !== undefined) return stem
    const added = Object.entries(quoted.extensions ?? nothing)
    if (added.length === 0) return stem
    return boundedStemFor({ ...quoted, extensions: Object.fromEntries(added.slice(0, -1)) })
  }
  const write = (quoted: Contents): Written => ({
    stem: boundedStemFor(quoted),
    body: Buffer.from(JSON.stringify(bodyOf(quoted))),
  })
  const longest = stemFor({ resourceUrl: 'x'.repeat(RESOURCE_URL_CHARS_MAX) })
  assert(lengthWith(longest) <= HEADER_BYTES_MAX, 'the PAYMENT-REQUIRED header stays under 4 KB')

  const common = new BoundedMap<string, Common>(QUOTES_KEPT_MAX)
  return {
    route,
    requirements,
    offered,
    known,
    quote: ({ secret, ...quoted }) => {
      // Quotes for one caller are not cached.
      if (quoted.rejected !== undefined || quoted.offers !== undefined)
        return paymentRequired(write(quoted), secret)
      const { resourceUrl, extensions = nothing } = quoted
      const ways = offered()
      const states = ways.flatMap((way) => [way, way.method.extraNow?.()])
      const held = common.get(resourceUrl)
      const isCurrent = held !== undefined && isSame(held.states, states)
      if (isCurrent && held.extensions === extensions) return paymentRequired(held, secret)
      const written = isCurrent ? { stem: boundedStemFor(quoted), body: held.body } : write(quoted)
      common.set(resourceUrl, { extensions, states, ...written })
      return paymentRequired(written, secret)
    },
  }
}

/** Catalogue data of one call. */
export function catalogueListing(route: PaidRoute, resourceUrl: string): CatalogueListing {
  const { catalogued: extensions } = route
  return { resource: resourceOf(route, resourceUrl), ...(extensions && { extensions }) }
}

function resourceOf({ description }: PaidRoute, url: string): ResourceInfo {
  return { url, description, mimeType: MIME_TYPE }
}

type Contents = Omit<Quoted, 'secret'>

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((state, at) => state === other[at])
}

/** A quote without its secret. */
type Written = { readonly stem: HeaderStem; readonly body: Buffer }

/** The cached quote of one resource. */
type Common = Written & {
  readonly extensions: Extensions
  /** The offered methods and their additions to the terms; compared by identity. */
  readonly states: readonly unknown[]
}

/**
 * Version 2 requires a JSON Schema of each extension. The one for any value is the shortest: full ones would take a tenth
 * of the header, and `docs/payment-extensions.md` describes the members.
 */
const ANY_VALUE = {}

function withSchemas(extensions: Extensions): Extensions {
  return Object.fromEntries(
    Object.entries(extensions).map(([name, extension]) => [
      name,
      {
        ...(extension as object),
        ...('schema' in (extension as object) ? {} : { schema: ANY_VALUE }),
      },
    ]),
  )
}

/** The header before the secret, encoded in whole groups of base64. */
type HeaderStem = { readonly encoded: string; readonly rest: Buffer }

const BEFORE_SECRET = `,"${ANSWER_ACCESS}":{"info":{"secret":"`
const AFTER_SECRET = `"},"schema":${JSON.stringify(ANY_VALUE)}}}}`
/** Three bytes encode to four characters. */
const BASE64_GROUP = 3

/** @param value its last member is `extensions`, and not empty */
function stemOf(value: object): HeaderStem {
  const json = JSON.stringify(value)
  const bytes = Buffer.from(json.slice(0, -2) + BEFORE_SECRET)
  const whole = bytes.length - (bytes.length % BASE64_GROUP)
  return { encoded: bytes.toString('base64', 0, whole), rest: bytes.subarray(whole) }
}

function headerOf({ encoded, rest }: HeaderStem, secret: string): string {
  return encoded + Buffer.from(rest.toString() + secret + AFTER_SECRET).toString('base64')
}

function lengthWith(stem: HeaderStem): number {
  return headerOf(stem, 'x'.repeat(SECRET_CHARS)).length
}

function paymentRequired({ stem, body }: Written, secret: string): BufferedResponse {
  assert(secret.length === SECRET_CHARS, 'a secret has a fixed length')
  return {
    status: 402,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'payment-required': headerOf(stem, secret),
    },
    body,
  }
}

function requirementOf(method: PaymentMethod, amount: bigint): Requirement {
  return {
    method,
    amount,
    wire: {
      scheme: method.scheme,
      network: method.network,
      amount: amount.toString(),
      asset: method.asset,
      payTo: method.payTo,
      maxTimeoutSeconds: TIMEOUT_SECONDS_MAX,
      extra: method.extra,
    },
  }
}

/** The terms with their temporary additions. */
function current({ method, wire }: Requirement): PaymentRequirements {
  return { ...wire, extra: { ...wire.extra, ...method.extraNow?.() } }
}

function corrected(wire: PaymentRequirements, rejected?: Rejection): PaymentRequirements {
  const correction = rejected?.correction
  if (correction?.scheme !== wire.scheme || correction.network !== wire.network) return wire
  return { ...wire, extra: { ...wire.extra, ...correction.extra } }
}

function diagnosticsOf({ correction: _correction, ...diagnostics }: Rejection) {
  return diagnostics
}

function legacyRequirement({ method, amount }: Requirement, route: PaidRoute, resourceUrl: string) {
  return {
    scheme: method.scheme,
    network: method.legacyName,
    maxAmountRequired: amount.toString(),
    resource: resourceUrl,
    description: route.description,
    mimeType: MIME_TYPE,
    payTo: method.payTo,
    maxTimeoutSeconds: TIMEOUT_SECONDS_MAX,
    asset: method.asset,
    ...(route.discovery === undefined
      ? {}
      : {
          outputSchema: {
            input: { type: 'http', method: 'GET', discoverable: true, ...route.discovery },
          },
        }),
    extra: { ...method.extra, ...method.extraNow?.() },
  }
}
