import type { Address, Hex, Log } from 'viem'
import {
  decodeFunctionData,
  encodeFunctionData,
  isAddressEqual,
  parseAbi,
  parseEventLogs,
} from 'viem'
import type { ExactEvmPayment } from './exact-evm.ts'
import { isKeySignature } from './exact-payload.ts'
import { CONTRACT_GAS_MAX, KEY_GAS_MAX } from './gas-limits.ts'
import { tokenAbi } from './token-abi.ts'

/** A contract call with its gas limit. */
export type ContractCall = { readonly to: Address; readonly data: Hex; readonly gas: bigint }

/** Gas of a batch: base and per transfer. */
const TOGETHER_GAS = 60_000n
const TOGETHER_GAS_EACH = 110_000n
/** Equal on every chain. */
export const MULTICALL3_ADDRESS: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Two overloads, one for ECDSA signatures and one for contract signatures. */
const byKeyAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])
const byContractAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
export const multicallAbi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[])',
])

/** Transfers the money of a payment. Any account can send it. */
export function transferCall({ authorization, signature, chain }: ExactEvmPayment): ContractCall {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const terms = [from, to, value, validAfter, validBefore, nonce] as const
  const functionName = 'transferWithAuthorization'
  if (!isKeySignature(signature)) {
    const data = encodeFunctionData({
      abi: byContractAbi,
      functionName,
      args: [...terms, signature],
    })
    return { to: chain.asset, data, gas: CONTRACT_GAS_MAX }
  }
  const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`] as const
  const v = Number.parseInt(signature.slice(130), 16)
  const data = encodeFunctionData({ abi: byKeyAbi, functionName, args: [...terms, v, r, s] })
  return { to: chain.asset, data, gas: KEY_GAS_MAX }
}

/** Batches calls in one transaction; a failed call does not affect the others. */
export function togetherCall(calls: readonly ContractCall[]): ContractCall {
  const data = encodeFunctionData({
    abi: multicallAbi,
    functionName: 'aggregate3',
    args: [calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))],
  })
  return {
    to: MULTICALL3_ADDRESS,
    data,
    gas: TOGETHER_GAS + TOGETHER_GAS_EACH * BigInt(calls.length),
  }
}

/** Number of transfers in a transaction of `transferCall` or `togetherCall`. */
export function transfersIn({ to, input }: { readonly to: Address | null; readonly input: Hex }) {
  if (to === null || !isAddressEqual(to, MULTICALL3_ADDRESS)) return 1
  return decodeFunctionData({ abi: multicallAbi, data: input }).args[0].length
}

/**
 * Whether the logs contain the transfer of a payment: the first `Transfer` of the token after the use of the nonce. The
 * nonce alone proves nothing, because it can be signed for another payee.
 */
export function pays(
  logs: Log[],
  { authorization, chain }: Pick<ExactEvmPayment, 'authorization' | 'chain'>,
): boolean {
  const { from, to, value, nonce } = authorization
  const events = parseEventLogs({ abi: tokenAbi, logs }).filter(({ address }) =>
    isAddressEqual(address, chain.asset),
  )
  const use = events.findIndex(
    (event) =>
      event.eventName === 'AuthorizationUsed' &&
      event.args.nonce === nonce &&
      isAddressEqual(event.args.authorizer, from),
  )
  if (use === -1) return false
  const transfer = events.slice(use + 1).find(({ eventName }) => eventName === 'Transfer')
  return (
    transfer?.eventName === 'Transfer' &&
    isAddressEqual(transfer.args.from, from) &&
    isAddressEqual(transfer.args.to, to) &&
    transfer.args.value === value
  )
}
