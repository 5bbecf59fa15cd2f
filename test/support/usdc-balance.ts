import type { Address } from 'viem'
import { encodeAbiParameters, keccak256, numberToHex } from 'viem'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'

/** Of `balanceOf` in `UsdCoin.sol`, after `totalSupply`. */
const BALANCES_SLOT = 1n
const slotTypes = [{ type: 'address' }, { type: 'uint256' }] as const

/**
 * Puts a balance, millionths of a USDC, on a local chain. `fundUsdc` mints, which takes a transaction, its block and
 * its receipt, one after the other for all buyers.
 */
export async function putUsdc(
  { rpcUrl, usdc }: EvmChain,
  holder: Address,
  atomic: bigint,
): Promise<void> {
  const slot = keccak256(encodeAbiParameters(slotTypes, [holder, BALANCES_SLOT]))
  const params = [usdc, slot, numberToHex(atomic, { size: 32 })]
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'anvil_setStorageAt', params }),
  })
  const { result } = (await response.json()) as { result?: boolean }
  if (result !== true) throw new Error(`the balance of ${holder} was not put`)
}
