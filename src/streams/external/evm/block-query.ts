import type { Observable } from 'rxjs'
import type { Address, Hex } from 'viem'
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'
import type { Assessed, NodeAnswer, RpcNodes } from '../json-rpc/rpc-nodes.ts'
import type { ViewCall } from './contract-calls.ts'
import { contractCall } from './contract-calls.ts'

/** What each call returned; null for a call that reverted. */
type Returned = readonly (Hex | null)[]

/** The decoded return value of one call; null if the call reverted or its bytes do not decode. */
export type Read<Value> = (returned: Returned) => Value | null

export type Add = <Value>(call: ViewCall<Value>) => Read<Value>

type AtBlock<Value> = Value & { readonly blockTimeMs: number }

/** Many contract calls as one `eth_call`, answered as of one block. */
export type BlockQuery<Value> = {
  /** Parameters of `eth_call`. */
  readonly params: readonly unknown[]
  readonly decode: (result: unknown) => Assessed<AtBlock<Value>>
}

/** Deployed at the same address on every chain: https://www.multicall3.com */
export const MULTICALL3_CONTRACT: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** A node that serves another chain is configured wrongly and is not asked again soon. */
const WRONG_CHAIN_PAUSE_MS = 3_600_000
const SECOND_MS = 1_000

const multicallAbi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
  'function getCurrentBlockTimestamp() view returns (uint256)',
  'function getChainId() view returns (uint256)',
])

/**
 * Encodes the calls that `build` adds, together with chain id and block time, as one `aggregate3` of
 * Multicall3. Each call may fail on its own.
 * @param build returns the reader of the whole answer, which returns null for an answer without use
 */
export function blockQuery<Value>(
  chainId: number,
  build: (add: Add) => (returned: Returned) => Value | null,
): BlockQuery<Value> {
  const calls: ViewCall<unknown>[] = []
  const add: Add = (call) => {
    const index = calls.push(call) - 1
    return (returned) => {
      const data = returned[index] ?? null
      if (data === null) return null
      try {
        return call.read(data)
      } catch {
        return null
      }
    }
  }
  const onMulticall = (functionName: 'getChainId' | 'getCurrentBlockTimestamp') =>
    add(contractCall(MULTICALL3_CONTRACT, multicallAbi, functionName, []))
  const idOf = onMulticall('getChainId')
  const secondsOf = onMulticall('getCurrentBlockTimestamp')
  const readValue = build(add)
  const args = calls.map(({ target, data }) => ({ target, allowFailure: true, callData: data }))
  const data = encodeFunctionData({
    abi: multicallAbi,
    functionName: 'aggregate3',
    args: [args],
  })
  return {
    params: [{ to: MULTICALL3_CONTRACT, data }, 'latest'],
    decode: (result) => {
      const returned = returnedOf(result, calls.length)
      const id = returned === null ? null : idOf(returned)
      if (returned === null || id === null) return UNDECODABLE
      if (id !== BigInt(chainId))
        return { quality: 'invalid', reason: `serves chain ${id}`, pauseMs: WRONG_CHAIN_PAUSE_MS }
      const blockTimeMs = Number(secondsOf(returned)) * SECOND_MS
      const value = readValue(returned)
      if (value === null || !(blockTimeMs > 0)) return UNDECODABLE
      return { quality: 'current', value: { ...value, blockTimeMs } }
    },
  }
}

/** @param assess judges an answer that could be decoded, for example by the age of its block */
export function queryBlock<Value>(
  nodes: RpcNodes,
  { params, decode }: BlockQuery<Value>,
  assess: (value: AtBlock<Value>) => Assessed<AtBlock<Value>> = (value) => ({
    quality: 'current',
    value,
  }),
): Observable<NodeAnswer<AtBlock<Value>>> {
  return nodes.call({
    method: 'eth_call',
    params,
    assess: (result) => {
      const decoded = decode(result)
      return decoded.quality === 'current' ? assess(decoded.value) : decoded
    },
  })
}

const UNDECODABLE = { quality: 'invalid', reason: 'the reply cannot be decoded' } as const

function returnedOf(result: unknown, length: number): Returned | null {
  if (typeof result !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(result)) return null
  try {
    const data = result as Hex
    const results = decodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', data })
    if (results.length !== length) return null
    return results.map(({ success, returnData }) => (success ? returnData : null))
  } catch {
    return null
  }
}
