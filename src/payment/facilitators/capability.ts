import type { SupportedResponse } from '@x402/core/types'

/** A payment kind that a facilitator is needed for. */
export type Kind = {
  readonly scheme: string
  /** CAIP-2. */
  readonly network: string
  readonly asset: string
}

/** Version 2 is used for facilitators, whatever version the buyer uses. */
const X402_VERSION = 2

/**
 * `extra` of a kind in `/supported`; null if it is not supported. The list has no assets, but some facilitators name
 * one, which must be ours.
 */
export function capability(
  supported: SupportedResponse,
  { scheme, network, asset }: Kind,
): Readonly<Record<string, unknown>> | null {
  for (const kind of supported.kinds) {
    if (kind.x402Version !== X402_VERSION || kind.scheme !== scheme) continue
    if (!covers(kind.network, network)) continue
    const { extra = {} } = kind
    const named = extra['asset']
    if (typeof named === 'string' && named.toLowerCase() !== asset.toLowerCase()) continue
    return extra
  }
  return null
}

/**
 * On Solana only the named fee payer can sign; elsewhere any facilitator can settle.
 * @param extra of the terms that the buyer accepted
 */
export function paysFee(
  supported: SupportedResponse,
  kind: Kind,
  extra: Readonly<Record<string, unknown>>,
): boolean {
  const feePayer = extra['feePayer']
  if (typeof feePayer !== 'string') return true
  return (
    capability(supported, kind)?.['feePayer'] === feePayer ||
    Object.values(supported.signers).some((signers) => signers.includes(feePayer))
  )
}

/** `eip155:*` stands for every EVM chain. */
function covers(pattern: string, network: string): boolean {
  return pattern.endsWith(':*') ? network.startsWith(pattern.slice(0, -1)) : pattern === network
}
