import type { Hex } from 'viem'
import { isHex, keccak256, numberToHex, stringToHex } from 'viem'
import type { RpcAnswer } from '../../json-rpc.ts'
import { rpcFailure } from '../../json-rpc.ts'
import { jsonRpcServer } from '../json-rpc-upstream.ts'
import type { Upstream } from '../upstream.ts'
import type { Contracts } from './contract.ts'
import { Revert } from './contract.ts'

export type EvmRpcOptions = {
  readonly chainId: number
  readonly blockMs: number
  /** Time of the newest block. */
  readonly nowMs: () => number
  readonly gasPriceWei: (atMs: number) => bigint
  readonly contracts: Contracts
}

/** A node without an archive keeps the state of this many blocks. */
const BLOCKS_KEPT = 128
const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized', undefined])
const ZERO_HASH = numberToHex(0, { size: 32 })

/** Blocks are counted from here, so that the height is a function of time. */
const GENESIS_MS = Date.UTC(2015, 6, 30)

export function heightAt(atMs: number, blockMs: number): number {
  return Math.floor((atMs - GENESIS_MS) / blockMs)
}

function blockTimeOf(height: number, blockMs: number): number {
  return GENESIS_MS + height * blockMs
}

/** The JSON-RPC methods of an EVM node that read contracts. */
export function evmRpc(options: EvmRpcOptions): Upstream {
  return jsonRpcServer((method, params) => answer(options, method, params))
}

function answer(options: EvmRpcOptions, method: string, params: readonly unknown[]): RpcAnswer {
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
      return rpcFailure(-32601, `the method ${method} does not exist/is not available`)
  }
}

function block(
  { chainId, blockMs, gasPriceWei }: EvmRpcOptions,
  tag: unknown,
  height: number,
): RpcAnswer {
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

function call({ blockMs, contracts }: EvmRpcOptions, params: readonly unknown[], height: number) {
  const { to, data, input } = (params[0] ?? {}) as Record<string, unknown>
  const calldata = data ?? input ?? '0x'
  if (typeof to !== 'string' || !isHex(calldata)) return rpcFailure(-32602, 'invalid params')
  const number = heightOf(params[1], height)
  if (number === null || number <= height - BLOCKS_KEPT)
    return rpcFailure(-32000, 'header not found')
  // A call of an address without code succeeds and returns nothing.
  const callee = contracts.get(to.toLowerCase())
  if (callee === undefined) return { result: '0x' }
  try {
    return { result: callee(calldata, blockTimeOf(number, blockMs)) }
  } catch (cause) {
    if (!(cause instanceof Revert)) throw cause
    if (cause.data === '0x') return rpcFailure(-32000, 'execution reverted')
    return rpcFailure(3, `execution reverted: ${cause.message}`, cause.data)
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
