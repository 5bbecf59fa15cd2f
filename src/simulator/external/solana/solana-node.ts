import { getBase58Decoder, isAddress } from '@solana/kit'
import type { Upstream } from '../upstream.ts'
import type { StoredAccount } from './account-layouts.ts'

export const SLOT_MS = 400
/** Slots are counted from there: the newest one is a function of the instant. */
const GENESIS_MS = Date.UTC(2020, 2, 16)
/** So many slots behind the newest one no vote can be taken back. */
const FINALIZED_BEHIND = 32
/** A node that is further behind says that it is not well. */
const HEALTHY_BEHIND_MAX = 128
const SLOTS_KEPT = 432_000
const KEYS_MAX = 100
const BASE58_BYTES_MAX = 128
const BATCH_MAX = 100
const LAMPORTS_PER_BYTE = 6_960
const ACCOUNT_OVERHEAD_BYTES = 128
/** Exempt from rent, as all accounts are: the highest 64-bit number, as JSON. */
const RENT_EPOCH = 2 ** 64
const VERSION = '2.2.14'

export type SolanaNodeOptions = {
  readonly nowMs: () => number
  /** The newest instant that this node knows of. */
  readonly newestMs: () => number
  /** What an account holds as of a block; null for none. */
  readonly accountsAt: (atMs: number) => (key: string) => StoredAccount | null
}

type Answer = { readonly result: unknown } | { readonly error: RpcError }
type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown }
type Config = Readonly<Record<string, unknown>>

export function slotAt(atMs: number): number {
  return Math.floor((atMs - GENESIS_MS) / SLOT_MS)
}

export function slotTimeMs(slot: number): number {
  return GENESIS_MS + slot * SLOT_MS
}

/** A node of Solana over HTTP, as far as a reader of accounts needs one. */
export function solanaNode(options: SolanaNodeOptions): Upstream {
  return {
    request: ({ method, body }) => {
      if (method !== 'POST') return { status: 405, body: '', contentType: 'text/plain' }
      return { status: 200, body: JSON.stringify(replyTo(options, body)) }
    },
  }
}

function replyTo(options: SolanaNodeOptions, body: string): unknown {
  let asked: unknown
  try {
    asked = JSON.parse(body)
  } catch {
    return { jsonrpc: '2.0', ...failure(-32700, 'Parse error'), id: null }
  }
  if (!Array.isArray(asked)) return replyToOne(options, asked)
  if (asked.length === 0 || asked.length > BATCH_MAX)
    return { jsonrpc: '2.0', ...failure(-32600, 'Invalid request'), id: null }
  return asked.map((one) => replyToOne(options, one))
}

function replyToOne(options: SolanaNodeOptions, asked: unknown): unknown {
  const { id = null, method, params } = objectOf(asked)
  const list = Array.isArray(params) ? params : []
  const answered =
    typeof method === 'string' ? answer(options, method, list) : failure(-32600, 'Invalid request')
  return { jsonrpc: '2.0', ...answered, id }
}

function answer(options: SolanaNodeOptions, method: string, params: readonly unknown[]): Answer {
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
      return failure(-32601, 'Method not found')
  }
}

function accountInfo(options: SolanaNodeOptions, [key, config]: readonly unknown[]): Answer {
  if (typeof key !== 'string') return failure(-32602, 'Invalid params: expected a string')
  if (!isAddress(key)) return failure(-32602, 'Invalid param: Invalid')
  return accountsAnswer(options, [key], config, 'base58', ([value]) => value)
}

function multipleAccounts(options: SolanaNodeOptions, [keys, config]: readonly unknown[]): Answer {
  if (!Array.isArray(keys)) return failure(-32602, 'Invalid params: expected a sequence')
  if (keys.length > KEYS_MAX) return failure(-32602, `Too many inputs provided; max ${KEYS_MAX}`)
  if (!keys.every((key) => typeof key === 'string' && isAddress(key)))
    return failure(-32602, 'Invalid param: Invalid')
  return accountsAnswer(options, keys, config, 'base64', (values) => values)
}

function accountsAnswer(
  options: SolanaNodeOptions,
  keys: readonly string[],
  config: unknown,
  usualEncoding: string,
  shape: (accounts: readonly unknown[]) => unknown,
): Answer {
  const { encoding = usualEncoding, dataSlice } = objectOf(config)
  if (encoding !== 'base64' && encoding !== 'base58')
    return failure(-32602, `Invalid params: unknown variant \`${String(encoding)}\``)
  return atContext(options, config, (slot) => {
    const stored = keys.map(options.accountsAt(slotTimeMs(slot)))
    const encoded = stored.map((account) => account && encode(account, encoding, dataSlice))
    if (encoded.includes('too long'))
      return failure(
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
  const { offset = 0, length = data.length } = objectOf(dataSlice)
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

/** As of which slot something is asked; as of a block that nobody can take back where nothing is said. */
function atContext(
  { newestMs }: SolanaNodeOptions,
  config: unknown,
  answerAt: (slot: number) => Answer,
): Answer {
  const { commitment = 'finalized', minContextSlot = 0 } = objectOf(config)
  if (!['processed', 'confirmed', 'finalized'].includes(String(commitment)))
    return failure(-32602, `Invalid params: unknown variant \`${String(commitment)}\``)
  const slot = slotAt(newestMs()) - (commitment === 'finalized' ? FINALIZED_BEHIND : 0)
  if (Number(minContextSlot) > slot)
    return failure(-32016, 'Minimum context slot has not been reached', { contextSlot: slot })
  return answerAt(slot)
}

function blockTime({ newestMs }: SolanaNodeOptions, slot: unknown): Answer {
  if (!Number.isSafeInteger(slot)) return failure(-32602, 'Invalid params: expected u64')
  const newest = slotAt(newestMs())
  if (Number(slot) > newest) return failure(-32004, `Block not available for slot ${slot}`)
  const first = newest - SLOTS_KEPT
  if (Number(slot) < first)
    return failure(
      -32001,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    )
  return { result: Math.floor(slotTimeMs(Number(slot)) / 1_000) }
}

function health({ nowMs, newestMs }: SolanaNodeOptions): Answer {
  const numSlotsBehind = slotAt(nowMs()) - slotAt(newestMs())
  if (numSlotsBehind <= HEALTHY_BEHIND_MAX) return { result: 'ok' }
  return failure(-32005, `Node is behind by ${numSlotsBehind} slots`, { numSlotsBehind })
}

function objectOf(value: unknown): Config {
  return typeof value === 'object' && value !== null ? (value as Config) : {}
}

function failure(code: number, message: string, data?: unknown): Answer {
  return { error: { code, message, ...(data !== undefined && { data }) } }
}
