import { parsedJson } from '../../../domain/json.ts'
import type { Rejected } from './rejection.ts'
import { rejected } from './rejection.ts'
import { isVenueObject, readAddress } from './values.ts'

export type VaultDetails = {
  readonly kind: 'vault'
  readonly name: string
  /** Addresses in lower case; none for a vault without children. */
  readonly children: readonly string[]
}

/** The reply to `vaultDetails`. */
export function decodeVaultDetails(body: string): VaultDetails | Rejected {
  const details = parsedJson(body)
  if (details === undefined) return rejected('not_json')
  if (!isVenueObject(details) || typeof details.name !== 'string') return rejected('bad_shape')
  const { name, relationship } = details
  const data = isVenueObject(relationship) ? relationship.data : undefined
  const addresses = isVenueObject(data) ? data.childAddresses : []
  if (!Array.isArray(addresses)) return { kind: 'vault', name, children: [] }
  const children = (addresses as readonly unknown[]).flatMap((one) => readAddress(one) ?? [])
  return { kind: 'vault', name, children }
}
