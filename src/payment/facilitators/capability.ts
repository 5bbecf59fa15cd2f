import type { SupportedResponse } from '@x402/core/types'

/** A way to pay that a facilitator is wanted for. */
export type Kind = {
  readonly scheme: string
  /** CAIP-2. */
  readonly network: string
  readonly asset: string
}

/** We speak version 2 to facilitators, whichever version the buyer speaks. */
const X402_VERSION = 2

/**
 * What a facilitator tells of one kind, as the `extra` of its `/supported`; null when it cannot do it. That
 * list has no room for assets, but some name one: then it must be ours.
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
 * On Solana the terms name who pays the fee, and only that facilitator can sign for it; elsewhere anyone
 * may settle. @param extra of the terms that the buyer accepted
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

/** `eip155:*` stands for every chain of its family. */
function covers(pattern: string, network: string): boolean {
  return pattern.endsWith(':*') ? network.startsWith(pattern.slice(0, -1)) : pattern === network
}
