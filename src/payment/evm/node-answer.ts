import type { Hex } from 'viem'
import { BaseError, decodeErrorResult, isHex, parseAbi, RpcRequestError } from 'viem'
import { nodeSays } from '../node-error.ts'

/** Code of a JSON-RPC error that is the contract's verdict. */
const EXECUTION_REVERTED = 3
/** EIP-7966: the node has the transaction, and no block has it yet. */
const SYNC_TIMEOUT = 4
const NO_SUCH_METHOD: ReadonlySet<number> = new Set([-32_601, -32_004])

const abi = parseAbi(['error Error(string reason)'])

/**
 * Why the chain would not execute a call, in the contract's words, as far as the node repeats them.
 * @returns null where the failure says nothing about the call: no answer, overload, a fault of the node
 */
export function revertReason(cause: unknown): string | null {
  const error = rpcError(cause)
  if (error === null) return null
  const isVerdict =
    error.code === EXECUTION_REVERTED || nodeSays(error, /revert|out ?of ?gas|invalid opcode/i)
  if (!isVerdict) return null
  return isHex(error.data) ? (reasonIn(error.data) ?? error.details) : error.details
}

/** The node does not know the method, so it did nothing. */
export function isMethodMissing(cause: unknown): boolean {
  const error = rpcError(cause)
  return error !== null && NO_SUCH_METHOD.has(error.code)
}

/** The node has the transaction and waits for its block no longer. */
export function isStillPending(cause: unknown): boolean {
  return rpcError(cause)?.code === SYNC_TIMEOUT
}

/** The node has this very transaction: it was sent. */
export function isAlreadyKnown(cause: unknown): boolean {
  return nodeSays(cause, /already ?known|already imported|\bknown transaction/i)
}

export function isNonceTooLow(cause: unknown): boolean {
  return nodeSays(cause, /nonce too low/i)
}

/** Another transaction of the same account has this nonce, mined or not. */
export function isNonceTaken(cause: unknown): boolean {
  return isNonceTooLow(cause) || nodeSays(cause, /replacement transaction underpriced/i)
}

/**
 * The node would not have our transaction, and leaves no doubt. "Nonce too low" does: it is also what a
 * provider hears that sends a transaction once more after the first one was mined.
 */
export function isTurnedAway(cause: unknown): boolean {
  return nodeSays(cause, /insufficient funds|underpriced|intrinsic gas|invalid sender/i)
}

/** What the node itself answered; null where it did not. */
export function rpcError(cause: unknown): RpcRequestError | null {
  const found =
    cause instanceof BaseError ? cause.walk((error) => error instanceof RpcRequestError) : null
  return found instanceof RpcRequestError ? found : null
}

function reasonIn(data: Hex): string | null {
  try {
    return decodeErrorResult({ abi, data }).args[0]
  } catch {
    // A custom error, or nothing at all.
    return null
  }
}
