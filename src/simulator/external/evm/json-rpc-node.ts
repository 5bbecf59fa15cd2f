import type { Hex } from 'viem'
import { isHex, keccak256, numberToHex, stringToHex } from 'viem'
import type { Upstream, UpstreamReply } from '../upstream.ts'
import type { Contracts } from './contract.ts'
import { Revert } from './contract.ts'

export type NodeOptions = {
  readonly chainId: number
  readonly blockMs: number
  /** The newest instant that this chain knows of. */
  readonly nowMs: () => number
  readonly gasPriceWei: (atMs: number) => bigint
  readonly contracts: Contracts
}

type Answer = { readonly result: unknown } | { readonly error: RpcError }
type RpcError = { readonly code: number; readonly message: string; readonly data?: Hex }

/** So far back a node without an archive remembers state. */
const BLOCKS_KEPT = 128
const BATCH_MAX = 100
const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized', undefined])
const ZERO_HASH = numberToHex(0, { size: 32 })

/** Blocks are counted from 2015, one a block time: a height is a function of the instant. */
const GENESIS_MS = Date.UTC(2015, 6, 30)

export function heightAt(atMs: number, blockMs: number): number {
  return Math.floor((atMs - GENESIS_MS) / blockMs)
}

function blockTimeOf(height: number, blockMs: number): number {
  return GENESIS_MS + height * blockMs
}

/** A node of an EVM chain over HTTP, as far as a reader of contracts needs one. */
export function jsonRpcNode(options: NodeOptions): Upstream {
  return {
    request: ({ method, body }) => {
      if (method !== 'POST') return { status: 405, body: '' }
      return { status: 200, body: JSON.stringify(replyTo(options, body)) } satisfies UpstreamReply
    },
  }
}

function replyTo(options: NodeOptions, body: string): unknown {
  let asked: unknown
  try {
    asked = JSON.parse(body)
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } }
  }
  if (!Array.isArray(asked)) return replyToOne(options, asked)
  if (asked.length === 0 || asked.length > BATCH_MAX)
    return { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'invalid batch' } }
  return asked.map((one) => replyToOne(options, one))
}

function replyToOne(options: NodeOptions, asked: unknown): unknown {
  const { id = null, method, params } = (asked ?? {}) as Record<string, unknown>
  if (typeof method !== 'string')
    return { jsonrpc: '2.0', id, error: { code: -32600, message: 'invalid request' } }
  return { jsonrpc: '2.0', id, ...answer(options, method, Array.isArray(params) ? params : []) }
}

function answer(options: NodeOptions, method: string, params: readonly unknown[]): Answer {
  const { chainId, blockMs, nowMs, gasPriceWei } = options
  const height = heightAt(nowMs(), blockMs)
  switch (method) {
    case 'eth_chainId':
      return { result: numberToHex(chainId) }
    case 'net_version':
      return { result: String(chainId) }
    case 'eth_blockNumber':
      return { result: numberToHex(height) }
    case 'eth_gasPrice':
      return { result: numberToHex(gasPriceWei(blockTimeOf(height, blockMs))) }
    case 'eth_getBlockByNumber':
      return block(options, params[0], height)
    case 'eth_call':
      return call(options, params, height)
    default:
      return failure(-32601, `the method ${method} does not exist/is not available`)
  }
}

function block(
  { chainId, blockMs, gasPriceWei }: NodeOptions,
  tag: unknown,
  height: number,
): Answer {
  const number = heightOf(tag, height)
  if (number === null) return { result: null }
  const timeMs = blockTimeOf(number, blockMs)
  return {
    result: {
      number: numberToHex(number),
      hash: blockHash(chainId, number),
      parentHash: blockHash(chainId, number - 1),
      timestamp: numberToHex(Math.floor(timeMs / 1_000)),
      baseFeePerGas: numberToHex(gasPriceWei(timeMs)),
      gasLimit: numberToHex(36_000_000),
      gasUsed: numberToHex(18_000_000),
      difficulty: '0x0',
      extraData: '0x',
      logsBloom: numberToHex(0, { size: 256 }),
      miner: numberToHex(0, { size: 20 }),
      mixHash: ZERO_HASH,
      nonce: '0x0000000000000000',
      receiptsRoot: ZERO_HASH,
      sha3Uncles: ZERO_HASH,
      size: numberToHex(1_000),
      stateRoot: ZERO_HASH,
      transactions: [],
      transactionsRoot: ZERO_HASH,
      uncles: [],
    },
  }
}

function call({ blockMs, contracts }: NodeOptions, params: readonly unknown[], height: number) {
  const { to, data, input } = (params[0] ?? {}) as Record<string, unknown>
  const calldata = data ?? input ?? '0x'
  if (typeof to !== 'string' || !isHex(calldata)) return failure(-32602, 'invalid params')
  const number = heightOf(params[1], height)
  if (number === null || number <= height - BLOCKS_KEPT) return failure(-32000, 'header not found')
  // An address without code returns nothing, and succeeds.
  const callee = contracts.get(to.toLowerCase())
  if (callee === undefined) return { result: '0x' }
  try {
    return { result: callee(calldata, blockTimeOf(number, blockMs)) }
  } catch (cause) {
    if (!(cause instanceof Revert)) throw cause
    if (cause.data === '0x') return failure(-32000, 'execution reverted')
    return failure(3, `execution reverted: ${cause.message}`, cause.data)
  }
}

function heightOf(tag: unknown, height: number): number | null {
  if (TAGS.has(tag)) return height
  if (typeof tag !== 'string' || !isHex(tag)) return null
  const number = Number(tag)
  return number <= height ? number : null
}

function blockHash(chainId: number, number: number): Hex {
  return keccak256(stringToHex(`${chainId} ${number}`))
}

function failure(code: number, message: string, data?: Hex): Answer {
  return { error: { code, message, ...(data !== undefined && { data }) } }
}
