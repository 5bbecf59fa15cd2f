import type { RpcAnswer, RpcMethods } from '../json-rpc.ts'
import { rpcFailure } from '../json-rpc.ts'

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
