import type { Hex } from 'viem'
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import type { View } from './contract-views.ts'

/** What each call returned, null for one that reverted. */
export type Returned = readonly (Hex | null)[]

const multicallAbi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
])

/** Many questions as one `aggregate3` of Multicall3, answered as of one block, each of which may fail. */
export class Multicall {
  readonly #views: View<unknown>[] = []

  /** @returns how to find the answer in a reply; null where that call failed or returned nonsense */
  add<Answer>(view: View<Answer>): (returned: Returned) => Answer | null {
    const index = this.#views.push(view) - 1
    return (returned) => {
      const data = returned[index] ?? null
      if (data === null) return null
      try {
        return view.read(data)
      } catch {
        return null
      }
    }
  }

  /** Calldata of the whole. */
  encode(): Hex {
    const calls = this.#views.map(({ target, data }) => ({
      target,
      allowFailure: true,
      callData: data,
    }))
    return encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] })
  }

  /** @returns null for bytes that are no answer to this */
  decode(data: Hex): Returned | null {
    try {
      const results = decodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', data })
      if (results.length !== this.#views.length) return null
      return results.map(({ success, returnData }) => (success ? returnData : null))
    } catch {
      return null
    }
  }
}
