import type { Address, Hex } from 'viem'
import { keccak256 } from 'viem'
import type { NodeClient } from './node-client.ts'

/** EIP-7702: the account runs the code of this address. */
const DELEGATED = /^0xef0100([0-9a-f]{40})$/i

/**
 * Hash of the code that checks a payer's signatures. USDC calls the account (EIP-1271) whenever it has code, also for a
 * delegated account and a signature of 65 bytes.
 * @returns null for an account without code
 */
export async function payerCode(node: NodeClient, payer: Address): Promise<Hex | null> {
  const code = await node.getCode({ address: payer })
  if (code === undefined) return null
  const delegate = DELEGATED.exec(code)?.[1]
  if (delegate === undefined) return keccak256(code)
  return keccak256((await node.getCode({ address: `0x${delegate}` })) ?? '0x')
}
