import type { Abi, Hex } from 'viem'
import { decodeFunctionData, encodeErrorResult, encodeFunctionResult, parseAbi } from 'viem'

/** Answers a call as of a block; throws a {@link Revert} where the real one would. */
export type Contract = (data: Hex, blockMs: number) => Hex

/** By address in lower case. */
export type Contracts = ReadonlyMap<string, Contract>

type Functions = Readonly<Record<string, (args: readonly unknown[], blockMs: number) => unknown>>

const errorAbi = parseAbi(['error Error(string)'])

export class Revert extends Error {
  readonly data: Hex

  constructor(reason?: string | { readonly data: Hex }) {
    super(typeof reason === 'string' ? reason : 'execution reverted')
    if (typeof reason === 'string')
      this.data = encodeErrorResult({ abi: errorAbi, errorName: 'Error', args: [reason] })
    else this.data = reason?.data ?? '0x'
  }
}

/** A contract with the real one's interface. Each function returns what viem encodes for its outputs. */
export function contract(abi: Abi, functions: Functions): Contract {
  return (data, blockMs) => {
    const { functionName, args } = decoded(abi, data)
    const answer = functions[functionName]
    if (answer === undefined) throw new Revert()
    const result = answer(args, blockMs)
    return encodeFunctionResult({ abi, functionName, result })
  }
}

function decoded(abi: Abi, data: Hex) {
  try {
    const { functionName, args } = decodeFunctionData({ abi, data })
    return { functionName, args: (args ?? []) as readonly unknown[] }
  } catch {
    throw new Revert()
  }
}
