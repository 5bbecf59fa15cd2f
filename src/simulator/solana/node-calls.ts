import type { EncodedAccount } from '@solana/kit'
import { getBase58Decoder, getBase58Encoder, getTransactionDecoder } from '@solana/kit'
import type { RpcAnswer } from '../json-rpc.ts'
import type { Bank, Commitment, Landed } from './bank.ts'
import { FINALIZED_BEHIND, messageOf, signatureOf } from './bank.ts'
import { compiledMessage, feeLamports } from './compiled-message.ts'
import { landedJson, tokenJson } from './landed-json.ts'
import type { RpcMethod } from './rpc-methods.ts'
import {
  CallFailure,
  commitmentIn,
  configOf,
  invalid,
  keyIn,
  listIn,
  reached,
} from './rpc-methods.ts'

/** The calls of a node, as far as wallets, sellers and facilitators make them. */

const VERSION = '2.2.14'
const KEYS_MAX = 100
const SIGNATURES_MAX = 256
const TRANSACTION_BYTES_MAX = 1_232
/** How long a node remembers the fate of a signature without looking into its archive. */
const STATUS_SLOTS = 150
const SIGNATURES_LISTED_MAX = 1_000
/** Exempt from rent, as all accounts are: the highest 64-bit number, as JSON. */
const RENT_EPOCH = 2 ** 64
/** Of the main net. */
export const GENESIS_HASH = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'

export function nodeCalls(bank: Bank): ReadonlyMap<string, RpcMethod> {
  const calls: Readonly<Record<string, RpcMethod>> = {
    getHealth: () => ({ result: 'ok' }),
    getVersion: () => ({ result: { 'feature-set': 3_294_202_862, 'solana-core': VERSION } }),
    getGenesisHash: () => ({ result: GENESIS_HASH }),
    getSlot: ([config]) => ({ result: bank.slot(commitmentIn(config)) }),
    getBlockTime: ([slot]) => ({ result: Math.floor(bank.timeMsOf(Number(slot)) / 1_000) }),
    getBlockHeight: ([config]) => ({ result: bank.blockHeight(bank.slot(commitmentIn(config))) }),
    getLatestBlockhash: ([config]) =>
      atContext(bank, config, (commitment) => bank.latestBlockhash(commitment)),
    isBlockhashValid: ([blockhash, config]) =>
      atContext(bank, config, (commitment) => bank.isBlockhashValid(keyIn(blockhash), commitment)),
    getBalance: ([key, config]) =>
      atContext(bank, config, () => Number(bank.account(keyIn(key))?.lamports ?? 0n)),
    getAccountInfo: ([key, config]) =>
      atContext(bank, config, () => accountJson(bank.account(keyIn(key)), config)),
    getMultipleAccounts: ([keys, config]) =>
      atContext(bank, config, () =>
        listIn(keys, KEYS_MAX).map((key) => accountJson(bank.account(keyIn(key)), config)),
      ),
    getTokenAccountBalance: ([key, config]) =>
      atContext(bank, config, () => tokenBalance(bank.account(keyIn(key)))),
    getMinimumBalanceForRentExemption: ([bytes]) => ({
      result: Number(bank.rentExemptLamports(countIn(bytes))),
    }),
    getRecentPrioritizationFees: () => ({
      result: [{ slot: bank.slot('processed'), prioritizationFee: 0 }],
    }),
    getFeeForMessage: ([message, config]) =>
      atContext(bank, config, (commitment) => feeOf(bank, message, commitment)),
    simulateTransaction: ([transaction, config]) => simulated(bank, transaction, config),
    sendTransaction: ([transaction, config]) => sent(bank, transaction, config),
    getSignatureStatuses: ([signatures, config]) =>
      atContext(bank, { commitment: 'processed' }, () =>
        listIn(signatures, SIGNATURES_MAX).map((signature) => statusOf(bank, signature, config)),
      ),
    getSignaturesForAddress: ([key, config]) => signaturesFor(bank, keyIn(key), config),
    getTransaction: ([signature, config]) => ({ result: transactionOf(bank, signature, config) }),
  }
  return new Map(Object.entries(calls))
}

function atContext(
  bank: Bank,
  config: unknown,
  value: (commitment: Commitment) => unknown,
): RpcAnswer {
  const commitment = commitmentIn(config)
  const slot = reached(bank.slot(commitment), config)
  return { result: { context: { apiVersion: VERSION, slot }, value: value(commitment) } }
}

function countIn(value: unknown): number {
  if (!Number.isSafeInteger(value) || Number(value) < 0)
    throw invalid('Invalid params: expected usize')
  return Number(value)
}

function accountJson(account: EncodedAccount | null, config: unknown): unknown {
  if (account === null) return null
  const { encoding = 'base58', dataSlice } = configOf(config)
  const { offset = 0, length = account.data.length } = configOf(dataSlice)
  const part = account.data.slice(Number(offset), Number(offset) + Number(length))
  // What a node cannot parse it gives in base64, and we parse nothing.
  const data =
    encoding === 'base58'
      ? [getBase58Decoder().decode(part), 'base58']
      : [Buffer.from(part).toString('base64'), 'base64']
  return {
    data,
    executable: account.executable,
    lamports: Number(account.lamports),
    owner: account.programAddress,
    rentEpoch: RENT_EPOCH,
    space: account.data.length,
  }
}

function tokenBalance(account: EncodedAccount | null): unknown {
  const token = tokenJson(account)
  if (token === null) throw invalid('Invalid param: not a Token account')
  return token.uiTokenAmount
}

/** Null for a message that no block would take any more. */
function feeOf(bank: Bank, message: unknown, commitment: Commitment): number | null {
  if (typeof message !== 'string') throw invalid('Invalid params: expected a string')
  const compiled = decoded(() => compiledMessage(Buffer.from(message, 'base64')))
  return bank.isBlockhashValid(compiled.lifetimeToken, commitment) ? feeLamports(compiled) : null
}

function wireBytes(transaction: unknown, config: unknown): Uint8Array {
  if (typeof transaction !== 'string') throw invalid('Invalid params: expected a string')
  const { encoding = 'base58' } = configOf(config)
  const bytes = decoded(() =>
    encoding === 'base64'
      ? Buffer.from(transaction, 'base64')
      : Buffer.from(getBase58Encoder().encode(transaction)),
  )
  if (bytes.length > TRANSACTION_BYTES_MAX)
    throw invalid(`decoded transaction too large: ${bytes.length} bytes (max: 1232 bytes)`)
  decoded(() => messageOf(getTransactionDecoder().decode(bytes)))
  return bytes
}

function decoded<T>(decode: () => T): T {
  try {
    return decode()
  } catch {
    throw invalid('failed to deserialize solana_transaction: io error: unexpected end of file')
  }
}

function simulated(bank: Bank, transaction: unknown, config: unknown): RpcAnswer {
  const { sigVerify = false, replaceRecentBlockhash = false } = configOf(config)
  if (sigVerify === true && replaceRecentBlockhash === true)
    throw invalid('sigVerify may not be used with replaceRecentBlockhash')
  const bytes = wireBytes(transaction, config)
  return atContext(bank, config, (commitment) => ({
    ...bank.simulate(bytes, {
      sigVerify: sigVerify === true,
      replaceBlockhash: replaceRecentBlockhash === true,
    }),
    accounts: null,
    innerInstructions: null,
    returnData: null,
    replacementBlockhash: replaceRecentBlockhash === true ? bank.latestBlockhash(commitment) : null,
  }))
}

function sent(bank: Bank, transaction: unknown, config: unknown): RpcAnswer {
  const bytes = wireBytes(transaction, config)
  const { skipPreflight = false } = configOf(config)
  if (skipPreflight !== true) {
    const simulation = bank.simulate(bytes, { sigVerify: true, replaceBlockhash: false })
    if (simulation.err === 'SignatureFailure')
      throw new CallFailure(-32003, 'Transaction signature verification failure')
    if (simulation.err !== null)
      throw new CallFailure(
        -32002,
        `Transaction simulation failed: ${JSON.stringify(simulation.err)}`,
        { ...simulation, accounts: null, returnData: null },
      )
  }
  bank.submit(bytes)
  return { result: signatureOf(bytes) }
}

function landedAt(bank: Bank, signature: unknown): Landed | null {
  if (typeof signature !== 'string') throw invalid('Invalid params: expected a string')
  return bank.landed(signature)
}

function statusOf(bank: Bank, signature: unknown, config: unknown): unknown {
  const { searchTransactionHistory = false } = configOf(config)
  const landed = landedAt(bank, signature)
  if (landed === null) return null
  const behind = bank.slot('processed') - landed.slot
  if (behind > STATUS_SLOTS && searchTransactionHistory !== true) return null
  const { slot, err } = landed
  return {
    slot,
    err,
    status: err === null ? { Ok: null } : { Err: err },
    confirmations: behind >= FINALIZED_BEHIND ? null : behind,
    confirmationStatus: bank.commitmentOf(landed),
  }
}

function signaturesFor(bank: Bank, key: string, config: unknown): RpcAnswer {
  const commitment = commitmentIn(config)
  reached(bank.slot(commitment), config)
  const { limit = SIGNATURES_LISTED_MAX, before } = configOf(config)
  const all = bank
    .landedNaming(key)
    .filter((landed) => isAtLeast(bank.commitmentOf(landed), commitment))
  const result = all
    .slice(all.findIndex(({ signature }) => signature === before) + 1)
    .slice(0, Number(limit))
    .map((landed) => ({
      signature: landed.signature,
      slot: landed.slot,
      err: landed.err,
      memo: null,
      blockTime: Math.floor(landed.atMs / 1_000),
      confirmationStatus: bank.commitmentOf(landed),
    }))
  return { result }
}

function transactionOf(bank: Bank, signature: unknown, config: unknown): unknown {
  const landed = landedAt(bank, signature)
  if (landed === null || !isAtLeast(bank.commitmentOf(landed), commitmentIn(config))) return null
  const { encoding = 'json', maxSupportedTransactionVersion } = configOf(config)
  if (encoding !== 'json' && encoding !== 'base64')
    throw invalid(`Invalid params: unknown variant \`${String(encoding)}\``)
  const json = landedJson(landed, encoding)
  if (json.version === 0 && maxSupportedTransactionVersion === undefined)
    throw new CallFailure(
      -32015,
      'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
    )
  return json
}

function isAtLeast(commitment: Commitment, wanted: Commitment): boolean {
  const order: readonly Commitment[] = ['processed', 'confirmed', 'finalized']
  return order.indexOf(commitment) >= order.indexOf(wanted)
}
