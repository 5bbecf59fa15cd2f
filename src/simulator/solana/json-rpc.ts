/** What every answer of a node is made of. */
export type RpcAnswer = { readonly result: unknown } | { readonly error: RpcError }
type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown }
export type RpcMethod = (params: readonly unknown[]) => RpcAnswer
type Config = Readonly<Record<string, unknown>>

const BATCH_MAX = 100

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

/** Answers one request or a batch of them, by the names of the calls. */
export function replyTo(calls: ReadonlyMap<string, RpcMethod>, body: string): unknown {
  let asked: unknown
  try {
    asked = JSON.parse(body)
  } catch {
    return { jsonrpc: '2.0', ...failure(-32700, 'Parse error'), id: null }
  }
  if (!Array.isArray(asked)) return replyToOne(calls, asked)
  if (asked.length === 0 || asked.length > BATCH_MAX)
    return { jsonrpc: '2.0', ...failure(-32600, 'Invalid request'), id: null }
  return asked.map((one) => replyToOne(calls, one))
}

/** A member of a call's last parameter, which may be missing. */
export function configOf(value: unknown): Config {
  return typeof value === 'object' && value !== null ? (value as Config) : {}
}

export function invalid(message: string): CallFailure {
  return new CallFailure(-32602, message)
}

function replyToOne(calls: ReadonlyMap<string, RpcMethod>, asked: unknown): unknown {
  const { id = null, method, params } = configOf(asked)
  return { jsonrpc: '2.0', ...answered(calls, method, Array.isArray(params) ? params : []), id }
}

function answered(
  calls: ReadonlyMap<string, RpcMethod>,
  method: unknown,
  params: readonly unknown[],
): RpcAnswer {
  if (typeof method !== 'string') return failure(-32600, 'Invalid request')
  const call = calls.get(method)
  if (call === undefined) return failure(-32601, 'Method not found')
  try {
    return call(params)
  } catch (cause) {
    if (cause instanceof CallFailure) return failure(cause.code, cause.message, cause.data)
    throw cause
  }
}

function failure(code: number, message: string, data?: unknown): RpcAnswer {
  return { error: { code, message, ...(data !== undefined && { data }) } }
}
