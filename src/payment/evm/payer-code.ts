import type { Address, Hex } from 'viem'
import { keccak256 } from 'viem'
import type { NodeClient } from './node-client.ts'

/** EIP-7702: the account runs the code at this address. */
const DELEGATED = /^0xef0100([0-9a-f]{40})$/i

/**
 * Hash of the code that judges a payer's signatures. USDC asks the account itself (EIP-1271) wherever it has
 * code, also an account with a key that has delegated, and also for a signature of 65 bytes.
 * @returns null for an account with a key alone
 */
export async function payerCode(node: NodeClient, payer: Address): Promise<Hex | null> {
  const code = await node.getCode({ address: payer })
  if (code === undefined) return null
  const delegate = DELEGATED.exec(code)?.[1]
  if (delegate === undefined) return keccak256(code)
  return keccak256((await node.getCode({ address: `0x${delegate}` })) ?? '0x')
}
