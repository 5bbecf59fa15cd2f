import { getBase58Decoder, isAddress } from '@solana/kit'
import type { RpcAnswer } from '../../json-rpc.ts'
import { rpcFailure } from '../../json-rpc.ts'
import { configOf } from '../../solana/rpc-methods.ts'
import { jsonRpcServer } from '../json-rpc-upstream.ts'
import type { Upstream } from '../upstream.ts'
import type { StoredAccount } from './account-layouts.ts'

export const SLOT_MS = 400
/** Slots are counted from here, so that the newest slot is a function of time. */
const GENESIS_MS = Date.UTC(2020, 2, 16)
/** Slots from `confirmed` to `finalized`. */
const FINALIZED_BEHIND = 32
/** Limit of `getHealth`. */
const HEALTHY_BEHIND_MAX = 128
const SLOTS_KEPT = 432_000
const KEYS_MAX = 100
const BASE58_BYTES_MAX = 128
const LAMPORTS_PER_BYTE = 6_960
const ACCOUNT_OVERHEAD_BYTES = 128
/** `u64::MAX`, as of rent-exempt accounts. */
const RENT_EPOCH = 2 ** 64
const VERSION = '2.2.14'

export type SolanaRpcOptions = {
  readonly nowMs: () => number
  /** Time of the newest slot. */
  readonly newestMs: () => number
  /** The accounts as of a block. */
  readonly accountsAt: (atMs: number) => (key: string) => StoredAccount | null
}

export function slotAt(atMs: number): number {
  return Math.floor((atMs - GENESIS_MS) / SLOT_MS)
}

export function slotTimeMs(slot: number): number {
  return GENESIS_MS + slot * SLOT_MS
}

/** The JSON-RPC methods of a Solana node that read accounts: https://solana.com/docs/rpc/http */
export function solanaRpc(options: SolanaRpcOptions): Upstream {
  return jsonRpcServer((method, params) => answer(options, method, params))
}

function answer(options: SolanaRpcOptions, method: string, params: readonly unknown[]): RpcAnswer {
  switch (method) {
    case 'getAccountInfo':
      return accountInfo(options, params)
    case 'getMultipleAccounts':
      return multipleAccounts(options, params)
    case 'getSlot':
      return atContext(options, params[0], (slot) => ({ result: slot }))
    case 'getBlockTime':
      return blockTime(options, params[0])
    case 'getHealth':
      return health(options)
    case 'getVersion':
      return { result: { 'feature-set': 3_294_202_862, 'solana-core': VERSION } }
    default:
      return rpcFailure(-32601, 'Method not found')
  }
}

function accountInfo(options: SolanaRpcOptions, [key, config]: readonly unknown[]): RpcAnswer {
  if (typeof key !== 'string') return rpcFailure(-32602, 'Invalid params: expected a string')
  if (!isAddress(key)) return rpcFailure(-32602, 'Invalid param: Invalid')
  return accountsAnswer(options, [key], config, 'base58', ([value]) => value)
}

function multipleAccounts(
  options: SolanaRpcOptions,
  [keys, config]: readonly unknown[],
): RpcAnswer {
  if (!Array.isArray(keys)) return rpcFailure(-32602, 'Invalid params: expected a sequence')
  if (keys.length > KEYS_MAX) return rpcFailure(-32602, `Too many inputs provided; max ${KEYS_MAX}`)
  if (!keys.every((key) => typeof key === 'string' && isAddress(key)))
    return rpcFailure(-32602, 'Invalid param: Invalid')
  return accountsAnswer(options, keys, config, 'base64', (values) => values)
}

function accountsAnswer(
  options: SolanaRpcOptions,
  keys: readonly string[],
  config: unknown,
  usualEncoding: string,
  shape: (accounts: readonly unknown[]) => unknown,
): RpcAnswer {
  const { encoding = usualEncoding, dataSlice } = configOf(config)
  if (encoding !== 'base64' && encoding !== 'base58')
    return rpcFailure(-32602, `Invalid params: unknown variant \`${String(encoding)}\``)
  return atContext(options, config, (slot) => {
    const stored = keys.map(options.accountsAt(slotTimeMs(slot)))
    const encoded = stored.map((account) => account && encode(account, encoding, dataSlice))
    if (encoded.includes('too long'))
      return rpcFailure(
        -32600,
        `Encoded binary (base 58) data should be less than ${BASE58_BYTES_MAX} bytes, please use Base64 encoding.`,
      )
    return { result: { context: { apiVersion: VERSION, slot }, value: shape(encoded) } }
  })
}

function encode(
  { owner, data }: StoredAccount,
  encoding: 'base64' | 'base58',
  dataSlice: unknown,
): object | 'too long' {
  const { offset = 0, length = data.length } = configOf(dataSlice)
  const part = data.slice(Number(offset), Number(offset) + Number(length))
  if (encoding === 'base58' && part.length > BASE58_BYTES_MAX) return 'too long'
  const text =
    encoding === 'base64' ? Buffer.from(part).toString('base64') : getBase58Decoder().decode(part)
  return {
    data: [text, encoding],
    executable: false,
    lamports: (data.length + ACCOUNT_OVERHEAD_BYTES) * LAMPORTS_PER_BYTE,
    owner,
    rentEpoch: RENT_EPOCH,
    space: data.length,
  }
}

/** The slot of the requested commitment, `finalized` by default. */
function atContext(
  { newestMs }: SolanaRpcOptions,
  config: unknown,
  answerAt: (slot: number) => RpcAnswer,
): RpcAnswer {
  const { commitment = 'finalized', minContextSlot = 0 } = configOf(config)
  if (!['processed', 'confirmed', 'finalized'].includes(String(commitment)))
    return rpcFailure(-32602, `Invalid params: unknown variant \`${String(commitment)}\``)
  const slot = slotAt(newestMs()) - (commitment === 'finalized' ? FINALIZED_BEHIND : 0)
  if (Number(minContextSlot) > slot)
    return rpcFailure(-32016, 'Minimum context slot has not been reached', { contextSlot: slot })
  return answerAt(slot)
}

function blockTime({ newestMs }: SolanaRpcOptions, slot: unknown): RpcAnswer {
  if (!Number.isSafeInteger(slot)) return rpcFailure(-32602, 'Invalid params: expected u64')
  const newest = slotAt(newestMs())
  if (Number(slot) > newest) return rpcFailure(-32004, `Block not available for slot ${slot}`)
  const first = newest - SLOTS_KEPT
  if (Number(slot) < first)
    return rpcFailure(
      -32001,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    )
  return { result: Math.floor(slotTimeMs(Number(slot)) / 1_000) }
}

function health({ nowMs, newestMs }: SolanaRpcOptions): RpcAnswer {
  const numSlotsBehind = slotAt(nowMs()) - slotAt(newestMs())
  if (numSlotsBehind <= HEALTHY_BEHIND_MAX) return { result: 'ok' }
  return rpcFailure(-32005, `Node is behind by ${numSlotsBehind} slots`, { numSlotsBehind })
}
