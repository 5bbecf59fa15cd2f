import type { Hex } from 'viem'
import { BaseError, decodeErrorResult, isHex, parseAbi, RpcRequestError } from 'viem'
import { nodeSays } from '../node-error.ts'

/** JSON-RPC error code of a reverted call. */
const EXECUTION_REVERTED = 3
/** EIP-7966: the node has the transaction, but no block has it yet. */
const SYNC_TIMEOUT = 4
const NO_SUCH_METHOD: ReadonlySet<number> = new Set([-32_601, -32_004])

const abi = parseAbi(['error Error(string reason)'])

/**
 * Revert reason of a call, as far as the node reports it.
 * @returns null if the failure says nothing about the call: no answer, overload or an error of the node
 */
export function revertReason(cause: unknown): string | null {
  const error = rpcError(cause)
  if (error === null) return null
  const isVerdict =
    error.code === EXECUTION_REVERTED || nodeSays(error, /revert|out ?of ?gas|invalid opcode/i)
  if (!isVerdict) return null
  return isHex(error.data) ? (reasonIn(error.data) ?? error.details) : error.details
}

/** The node does not have the method, so nothing happened. */
export function isMethodMissing(cause: unknown): boolean {
  const error = rpcError(cause)
  return error !== null && NO_SUCH_METHOD.has(error.code)
}

/** The node has the transaction and stopped waiting for its block. */
export function isStillPending(cause: unknown): boolean {
  return rpcError(cause)?.code === SYNC_TIMEOUT
}

/** The node already has this transaction. */
export function isAlreadyKnown(cause: unknown): boolean {
  return nodeSays(cause, /already ?known|already imported|\bknown transaction/i)
}

export function isNonceTooLow(cause: unknown): boolean {
  return nodeSays(cause, /nonce too low/i)
}

/** The nonce is used, mined or pending, perhaps by this transaction, which a provider sent again. */
export function isNonceTaken(cause: unknown): boolean {
  return isNonceTooLow(cause) || nodeSays(cause, /replacement transaction underpriced/i)
}

/**
 * Whether the node certainly rejected the transaction. "Nonce too low" is not certain: a provider that sends a mined
 * transaction again gets it as well.
 */
export function isTurnedAway(cause: unknown): boolean {
  return nodeSays(cause, /insufficient funds|underpriced|intrinsic gas|invalid sender/i)
}

/** The JSON-RPC error of the node; null without one. */
export function rpcError(cause: unknown): RpcRequestError | null {
  const found =
    cause instanceof BaseError ? cause.walk((error) => error instanceof RpcRequestError) : null
  return found instanceof RpcRequestError ? found : null
}

function reasonIn(data: Hex): string | null {
  try {
    return String(decodeErrorResult({ abi, data }).args[0])
  } catch {
    // A custom error or no data.
    return null
  }
}
