import assert from 'node:assert/strict'
import type { PaymentMethod, Requirement } from './payment.ts'
import type { Rejection } from './rejection.ts'

/** What a route declares as `config.x402`. */
export type PaidRoute = {
  readonly priceUsdcAtomic: bigint
  readonly description: string
  /** Parameters of the call, for catalogues: name to a short description or JSON schema. */
  readonly discovery?: {
    readonly pathParams?: Readonly<Record<string, unknown>>
    readonly queryParams?: Readonly<Record<string, unknown>>
  }
}

export type Terms = {
  readonly requirements: readonly Requirement[]
  /** The 402 for one resource: version 1 in the body, version 2 in the `PAYMENT-REQUIRED` header. */
  quote(
    resourceUrl: string,
    rejected?: Rejection,
  ): { readonly header: string; readonly body: string }
}

/** Long enough for a slow signer, short enough that a lost payment soon cannot be used any more. */
const TIMEOUT_SECONDS_MAX = 120
const DESCRIPTION_CHARS_MAX = 500
/** Proxies buffer 4 to 8 KB of response headers. */
const HEADER_BYTES_MAX = 4_000
export const RESOURCE_URL_CHARS_MAX = 700
const MIME_TYPE = 'application/json'
/** Stands for the resource until it is known. Has nothing that JSON escapes. */
const SLOT = '{resource}'

/** Renders what is constant about a route's 402 once; a quote then only fills in its resource. */
export function termsOf(route: PaidRoute, methods: readonly PaymentMethod[]): Terms {
  assert(route.priceUsdcAtomic > 0n, 'a paid route has a price above zero')
  assert(
    route.description.length <= DESCRIPTION_CHARS_MAX,
    'the description is up to 500 characters',
  )
  assert(methods.length > 0, 'a paid route can be paid in at least one way')
  const requirements = methods.map((method) => requirementOf(method, route.priceUsdcAtomic))
  const body = template({
    x402Version: 1,
    error: 'payment_required',
    accepts: requirements
      .filter(({ method }) => method.legacyName !== null)
      .map((requirement) => legacyRequirement(requirement, route)),
  })
  const required = template({
    x402Version: 2,
    error: 'payment_required',
    resource: { url: SLOT, description: route.description, mimeType: MIME_TYPE },
    accepts: requirements.map(({ wire }) => wire),
  })
  const longest = base64(required('x'.repeat(RESOURCE_URL_CHARS_MAX)))
  assert(longest.length <= HEADER_BYTES_MAX, 'the PAYMENT-REQUIRED header stays under 4 KB')

  return {
    requirements,
    quote: (resourceUrl, rejected) => {
      const v1 = body(resourceUrl)
      const v2 = required(resourceUrl)
      if (rejected === undefined) return { header: base64(v2), body: v1 }
      return {
        header: base64(JSON.stringify({ ...JSON.parse(v2), error: rejected.reason })),
        body: JSON.stringify({
          ...JSON.parse(v1),
          error: 'payment_invalid',
          diagnostics: rejected,
        }),
      }
    },
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

function legacyRequirement({ method, amount }: Requirement, route: PaidRoute) {
  return {
    scheme: method.scheme,
    network: method.legacyName,
    maxAmountRequired: amount.toString(),
    resource: SLOT,
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
    extra: method.extra,
  }
}

/** `resourceUrl` is safe inside a JSON string: `resource.ts` lets nothing through that is not. */
function template(value: unknown): (resourceUrl: string) => string {
  const pieces = JSON.stringify(value).split(SLOT)
  return (resourceUrl) => pieces.join(resourceUrl)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
