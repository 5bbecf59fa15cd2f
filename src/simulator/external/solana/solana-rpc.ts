import { getBase58Decoder } from '@solana/kit'
import type { RpcAnswer } from '../../json-rpc.ts'
import type { RpcMethod } from '../../solana/rpc-methods.ts'
import {
  CallFailure,
  commitmentIn,
  configOf,
  invalid,
  keyIn,
  listIn,
  reached,
  rpcMethods,
} from '../../solana/rpc-methods.ts'
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
export function solanaRpc({ nowMs, newestMs, accountsAt }: SolanaRpcOptions): Upstream {
  const slotOf = (config: unknown) => {
    const behind = commitmentIn(config) === 'finalized' ? FINALIZED_BEHIND : 0
    return reached(slotAt(newestMs()) - behind, config)
  }
  const atContext = (
    config: unknown,
    value: (accountAt: (key: unknown) => StoredAccount | null) => unknown,
  ): RpcAnswer => {
    const slot = slotOf(config)
    const accountAt = accountsAt(slotTimeMs(slot))
    const context = { apiVersion: VERSION, slot }
    return { result: { context, value: value((key) => accountAt(keyIn(key))) } }
  }
  const calls: Readonly<Record<string, RpcMethod>> = {
    getAccountInfo: ([key, config]) =>
      atContext(config, (accountAt) => accountJson(accountAt(key), config, 'base58')),
    getMultipleAccounts: ([keys, config]) =>
      atContext(config, (accountAt) =>
        listIn(keys, KEYS_MAX).map((key) => accountJson(accountAt(key), config, 'base64')),
      ),
    getSlot: ([config]) => ({ result: slotOf(config) }),
    getBlockTime: ([slot]) => ({ result: blockTime(slot, slotAt(newestMs())) }),
    getHealth: () => ({ result: health(slotAt(nowMs()) - slotAt(newestMs())) }),
    getVersion: () => ({ result: { 'feature-set': 3_294_202_862, 'solana-core': VERSION } }),
  }
  return jsonRpcServer(rpcMethods(new Map(Object.entries(calls))))
}

function accountJson(account: StoredAccount | null, config: unknown, usualEncoding: string) {
  const { encoding = usualEncoding, dataSlice } = configOf(config)
  if (encoding !== 'base64' && encoding !== 'base58')
    throw invalid(`Invalid params: unknown variant \`${String(encoding)}\``)
  if (account === null) return null
  const { owner, data } = account
  const { offset = 0, length = data.length } = configOf(dataSlice)
  const part = data.slice(Number(offset), Number(offset) + Number(length))
  if (encoding === 'base58' && part.length > BASE58_BYTES_MAX)
    throw new CallFailure(
      -32600,
      `Encoded binary (base 58) data should be less than ${BASE58_BYTES_MAX} bytes, please use Base64 encoding.`,
    )
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

function blockTime(slot: unknown, newest: number): number {
  if (!Number.isSafeInteger(slot)) throw invalid('Invalid params: expected u64')
  if (Number(slot) > newest) throw new CallFailure(-32004, `Block not available for slot ${slot}`)
  const first = newest - SLOTS_KEPT
  if (Number(slot) < first)
    throw new CallFailure(
      -32001,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    )
  return Math.floor(slotTimeMs(Number(slot)) / 1_000)
}

function health(numSlotsBehind: number): string {
  if (numSlotsBehind <= HEALTHY_BEHIND_MAX) return 'ok'
  throw new CallFailure(-32005, `Node is behind by ${numSlotsBehind} slots`, { numSlotsBehind })
}
