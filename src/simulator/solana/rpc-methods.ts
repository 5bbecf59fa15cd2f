import { isAddress } from '@solana/kit'
import type { RpcAnswer, RpcMethods } from '../json-rpc.ts'
import { rpcFailure } from '../json-rpc.ts'
import type { Commitment } from './bank.ts'

export type RpcMethod = (params: readonly unknown[]) => RpcAnswer
type Config = Readonly<Record<string, unknown>>

/** Ends a call with the error that a node would give. */
export class CallFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function invalid(message: string): CallFailure {
  return new CallFailure(-32602, message)
}

/** A member of a call's last parameter, which may be missing. */
export function configOf(value: unknown): Config {
  return typeof value === 'object' && value !== null ? (value as Config) : {}
}

export function commitmentIn(config: unknown): Commitment {
  const { commitment = 'finalized' } = configOf(config)
  if (commitment === 'processed' || commitment === 'confirmed' || commitment === 'finalized')
    return commitment
  throw invalid(`Invalid params: unknown variant \`${String(commitment)}\``)
}

/** @returns the slot, unless the caller wants a later one */
export function reached(slot: number, config: unknown): number {
  const { minContextSlot = 0 } = configOf(config)
  if (Number(minContextSlot) <= slot) return slot
  throw new CallFailure(-32016, 'Minimum context slot has not been reached', { contextSlot: slot })
}

export function keyIn(value: unknown): string {
  if (typeof value !== 'string') throw invalid('Invalid params: expected a string')
  if (!isAddress(value)) throw invalid('Invalid param: Invalid')
  return value
}

export function listIn(value: unknown, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid('Invalid params: expected a sequence')
  if (value.length > lengthMax) throw invalid(`Too many inputs provided; max ${lengthMax}`)
  return value
}

export function rpcMethods(methods: ReadonlyMap<string, RpcMethod>): RpcMethods {
  return (name, params) => {
    const method = methods.get(name)
    if (method === undefined) return rpcFailure(-32601, 'Method not found')
    try {
      return method(params)
    } catch (cause) {
      if (cause instanceof CallFailure) return rpcFailure(cause.code, cause.message, cause.data)
      throw cause
    }
  }
}
