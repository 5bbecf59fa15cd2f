import type { Network, SupportedKind, SupportedResponse } from '@x402/core/types'
import { isRecord } from '../../domain/json.ts'

/** Reads a `/supported` response; null if it is invalid. */
export function readSupported(
  body: Readonly<Record<string, unknown>> | null,
): SupportedResponse | null {
  const { kinds, extensions, signers } = body ?? {}
  if (!Array.isArray(kinds)) return null
  const read = kinds.map(kindOf)
  if (!read.every((kind) => kind !== null)) return null
  return {
    kinds: read,
    extensions: textsIn(extensions),
    signers: isRecord(signers)
      ? Object.fromEntries(Object.entries(signers).map(([name, keys]) => [name, textsIn(keys)]))
      : {},
  }
}

function kindOf(value: unknown): SupportedKind | null {
  if (!isRecord(value)) return null
  const { x402Version, scheme, network, extra } = value
  if (typeof x402Version !== 'number' || typeof scheme !== 'string' || typeof network !== 'string')
    return null
  return {
    x402Version,
    scheme,
    network: network as Network,
    ...(isRecord(extra) && { extra }),
  }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
