import type { Hex } from 'viem'
import { parseAbi } from 'viem'
import type { Contract, Contracts } from './contract.ts'
import { contract, Revert } from './contract.ts'

const ADDRESS = '0xca11bde05977b3631167028862be2a173976ca11'

const abi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
  'function getBlockNumber() view returns (uint256 blockNumber)',
  'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
  'function getChainId() view returns (uint256 chainid)',
  'function getBasefee() view returns (uint256 basefee)',
])

type Call3 = { readonly target: string; readonly allowFailure: boolean; readonly callData: Hex }

const CALLS_MAX = 2_000

/**
 * Adds Multicall3, which has the same address on every chain, to the contracts of a chain.
 * @param blockNumber `block.number` in contracts of the chain
 */
export function addMulticall3(options: {
  readonly chainId: number
  readonly blockNumber: (blockMs: number) => number
  readonly contracts: Map<string, Contract>
}): void {
  const { chainId, blockNumber, contracts } = options
  const multicall = contract(abi, {
    getBlockNumber: (_, blockMs) => BigInt(blockNumber(blockMs)),
    getCurrentBlockTimestamp: (_, blockMs) => BigInt(Math.floor(blockMs / 1_000)),
    getChainId: () => BigInt(chainId),
    // In a call without a gas price nodes set the base fee to zero.
    getBasefee: () => 0n,
    aggregate3: ([calls], blockMs) => {
      const list = calls as readonly Call3[]
      if (list.length > CALLS_MAX) throw new Revert('out of gas')
      return list.map((call) => resultOf(call, contracts, blockMs))
    },
  })
  contracts.set(ADDRESS, multicall)
}

function resultOf({ target, allowFailure, callData }: Call3, contracts: Contracts, atMs: number) {
  try {
    const callee = contracts.get(target.toLowerCase())
    return { success: true, returnData: callee === undefined ? '0x' : callee(callData, atMs) }
  } catch (cause) {
    if (!(cause instanceof Revert)) throw cause
    if (!allowFailure) throw new Revert('Multicall3: call failed')
    return { success: false, returnData: cause.data }
  }
}
