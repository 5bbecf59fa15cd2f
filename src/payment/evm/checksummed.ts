import type { Address } from 'viem'
import { getAddress } from 'viem/utils'

/** EIP-55 spelling of an address. Addresses in one case have no checksum. */
export function checksummed(text: string): { readonly spelled: Address; readonly fits: boolean } {
  const spelled = getAddress(text.toLowerCase())
  const digits = text.slice(2)
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  return { spelled, fits: !hasChecksum || spelled === text }
}
