import type { Abi, AbiFunction, Hex } from 'viem'
import {
  decodeAbiParameters,
  encodeErrorResult,
  encodeFunctionResult,
  parseAbi,
  slice,
  toFunctionSelector,
} from 'viem'

/** Answers a call as of a block. @throws Revert if the call fails */
export type Contract = (data: Hex, blockMs: number) => Hex

/** By lower-case address. */
export type Contracts = ReadonlyMap<string, Contract>

type Functions = Readonly<Record<string, (args: readonly unknown[], blockMs: number) => unknown>>

const SELECTOR_BYTES = 4
const SELECTOR_LENGTH = '0x'.length + 2 * SELECTOR_BYTES

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

/** A contract with an ABI and its functions, whose return values viem encodes. */
export function contract(abi: Abi, functions: Functions): Contract {
  // viem's `decodeFunctionData` hashes all signatures at each call.
  const bySelector = new Map(
    abi
      .filter((item): item is AbiFunction => item.type === 'function')
      .map((item) => [toFunctionSelector(item), item]),
  )
  return (data, blockMs) => {
    const called = bySelector.get(data.slice(0, SELECTOR_LENGTH) as Hex)
    if (called === undefined) throw new Revert()
    const answer = functions[called.name]
    if (answer === undefined) throw new Revert()
    const result = answer(argumentsOf(called, data), blockMs)
    return encodeFunctionResult({ abi, functionName: called.name, result })
  }
}

function argumentsOf({ inputs }: AbiFunction, data: Hex): readonly unknown[] {
  if (inputs.length === 0) return []
  try {
    return decodeAbiParameters(inputs, slice(data, SELECTOR_BYTES)) as readonly unknown[]
  } catch {
    throw new Revert()
  }
}
