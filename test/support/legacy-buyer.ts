import { randomBytes } from 'node:crypto'
import { getAddress, toHex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'

/** Members of an `accepts` entry that the old client reads and validates. */
type LegacyRequirement = {
  readonly scheme: string
  readonly network: string
  readonly maxAmountRequired: string
  readonly resource: string
  readonly description: string
  readonly mimeType: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly asset: string
  readonly extra?: { readonly name?: string; readonly version?: string }
}

/** The old client's default maximum for one call. */
const MILLIONTHS_MAX = 100_000n

/**
 * Pays like `x402-fetch` 1.2.0, which is not installed: it reads only the body of a 402, takes the first
 * entry for scheme `exact` on Base, and sends the version 1 envelope in `X-PAYMENT`, members in this
 * order, together with a response header that does not belong into a request.
 */
export function legacyFetch(
  buyer: PrivateKeyAccount,
  nowMs: () => number,
  speak: typeof fetch = fetch,
) {
  return async (url: string): Promise<Response> => {
    const quote = await speak(url)
    if (quote.status !== 402) return quote
    const { x402Version, accepts } = (await quote.json()) as {
      readonly x402Version: number
      readonly accepts: readonly LegacyRequirement[]
    }
    for (const requirement of accepts) demand(requirement)
    const chosen = accepts.find(({ scheme, network }) => scheme === 'exact' && network === 'base')
    if (chosen === undefined) throw new TypeError('nothing in `accepts` is exact on Base')
    if (BigInt(chosen.maxAmountRequired) > MILLIONTHS_MAX) throw new RangeError('too dear')
    const payment = await sign(buyer, x402Version, chosen, Math.floor(nowMs() / 1_000))
    return speak(url, {
      headers: {
        'X-PAYMENT': Buffer.from(JSON.stringify(payment)).toString('base64'),
        'Access-Control-Expose-Headers': 'X-PAYMENT-RESPONSE',
      },
    })
  }
}

/** The old client's schema rejects the whole 402 if one entry is invalid. */
function demand(requirement: LegacyRequirement): void {
  const { maxAmountRequired, maxTimeoutSeconds, resource, ...texts } = requirement
  if (!/^\d+$/.test(maxAmountRequired)) throw new TypeError('maxAmountRequired is no integer')
  if (!Number.isInteger(maxTimeoutSeconds)) throw new TypeError('maxTimeoutSeconds is no integer')
  if (!URL.canParse(resource)) throw new TypeError('resource is no URL')
  for (const name of ['scheme', 'network', 'description', 'mimeType', 'payTo', 'asset'] as const) {
    if (typeof texts[name] !== 'string') throw new TypeError(`${name} is no text`)
  }
  if ('outputSchema' in requirement && typeof requirement.outputSchema !== 'object')
    throw new TypeError('outputSchema is no object')
}

async function sign(
  buyer: PrivateKeyAccount,
  x402Version: number,
  requirement: LegacyRequirement,
  nowSeconds: number,
) {
  const { scheme, network, extra } = requirement
  const authorization = {
    from: buyer.address,
    to: requirement.payTo,
    value: requirement.maxAmountRequired,
    validAfter: String(nowSeconds - 600),
    validBefore: String(nowSeconds + requirement.maxTimeoutSeconds),
    nonce: toHex(randomBytes(32)),
  }
  const signature = await buyer.signTypedData({
    domain: {
      name: extra?.name ?? '',
      version: extra?.version ?? '',
      chainId: 8_453,
      verifyingContract: getAddress(requirement.asset),
    },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      to: getAddress(authorization.to),
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  })
  return { x402Version, scheme, network, payload: { signature, authorization } }
}
