import type { Clock } from '../../domain/clock.ts'
import { isRecord } from '../../domain/json.ts'

/** Status of a transaction. */
export type SignatureStatus = {
  readonly err: unknown
  readonly confirmationStatus: 'processed' | 'confirmed' | 'finalized'
}

type Commitment = SignatureStatus['confirmationStatus']

/** A value and its slot. */
export type AtSlot<T> = { readonly slot: number; readonly value: T }

export type NodeAccount = {
  readonly owner: string
  readonly data: Buffer
  readonly lamports: number
}

/** A transaction in the list of an account. */
export type ListedTransaction = {
  readonly signature: string
  readonly err: unknown
  /** null on a node without the time of its block. */
  readonly atMs: number | null
}

/** Changes of the balances of one token in a transaction. */
export type TokenChanges = {
  /** Serialized. */
  readonly bytes: Buffer
  readonly err: unknown
  /** Atoms by owner; only changed ones. */
  readonly changes: ReadonlyMap<string, bigint>
}

/** `unreached`: the request was certainly not received. `unanswered`: it may have been. */
export type NodeFailure = 'unreached' | 'unanswered' | 'refused'

/** Error of a request. Never contains the URL of the node. */
export class SolanaNodeError extends Error {
  override readonly name = 'SolanaNodeError'
  readonly kind: NodeFailure

  constructor(kind: NodeFailure, message: string) {
    super(message)
    this.kind = kind
  }
}

type SolanaNodeOptions = {
  readonly rpcUrl: string
  readonly clock: Clock
  /** Time-out of one request. */
  readonly requestMsMax?: number
}

const REQUEST_MS_MAX = 5_000
const NEVER_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT/
/** Position of the amount: https://docs.rs/spl-token/latest/spl_token/state/struct.Account.html. */
const AMOUNT_SLICE = { offset: 64, length: 8 }
const BASE64 = { encoding: 'base64' } as const

/** A Solana node over JSON-RPC. Every call can throw SolanaNodeError; none is retried. */
export class SolanaNode {
  readonly #rpcUrl: string
  readonly #clock: Clock
  readonly #requestMsMax: number

  constructor({ rpcUrl, clock, requestMsMax = REQUEST_MS_MAX }: SolanaNodeOptions) {
    this.#rpcUrl = rpcUrl
    this.#clock = clock
    this.#requestMsMax = requestMsMax
  }

  async genesisHash(): Promise<string> {
    return textOf(await this.#call('getGenesisHash', []))
  }

  async account(key: string): Promise<NodeAccount | null> {
    const { value } = await this.#atSlot('getAccountInfo', [
      key,
      { ...BASE64, commitment: 'confirmed' },
    ])
    if (value === null) return null
    const { owner, lamports, data } = record(value)
    if (typeof owner !== 'string' || typeof lamports !== 'number') throw unreadable()
    return { owner, lamports, data: bytesOf(data) }
  }

  /** Balances of token accounts in atoms, in their order; 0 for a missing one. At most 100. */
  async tokenBalances(accounts: readonly string[]): Promise<readonly bigint[]> {
    const { value } = await this.#atSlot('getMultipleAccounts', [
      accounts,
      { ...BASE64, dataSlice: AMOUNT_SLICE, commitment: 'processed' },
    ])
    const found = list(value)
    if (found.length !== accounts.length) throw unreadable()
    return found.map((account) => {
      if (account === null) return 0n
      const amount = bytesOf(record(account)['data'])
      return amount.length === AMOUNT_SLICE.length ? amount.readBigUInt64LE() : 0n
    })
  }

  /** Error of the simulated transaction, null for success. Signatures are not checked. */
  async simulationError(transaction: string): Promise<unknown> {
    const { value } = await this.#atSlot('simulateTransaction', [
      transaction,
      { ...BASE64, sigVerify: false, replaceRecentBlockhash: false, commitment: 'processed' },
    ])
    return errorIn(value)
  }

  async send(transaction: string): Promise<void> {
    await this.#call('sendTransaction', [transaction, { ...BASE64, skipPreflight: true }])
  }

  /** Includes the archive of the node. */
  async status(signature: string): Promise<AtSlot<SignatureStatus | null>> {
    const { slot, value } = await this.#atSlot('getSignatureStatuses', [
      [signature],
      { searchTransactionHistory: true },
    ])
    const [found] = list(value)
    if (found === null) return { slot, value: null }
    const { confirmationStatus: told } = record(found)
    // Any other status is below `confirmed`.
    const confirmationStatus = told === 'confirmed' || told === 'finalized' ? told : 'processed'
    return { slot, value: { err: errorIn(found), confirmationStatus } }
  }

  async isBlockhashValid(blockhash: string, commitment: Commitment): Promise<AtSlot<boolean>> {
    const { slot, value } = await this.#atSlot('isBlockhashValid', [blockhash, { commitment }])
    if (typeof value !== 'boolean') throw unreadable()
    return { slot, value }
  }

  /**
   * Transactions with an account, newest first.
   * @throws if the node is behind `slot`
   */
  async signaturesFor(key: string, limit: number, slot: number): Promise<readonly string[]> {
    const found = await this.#call('getSignaturesForAddress', [
      key,
      { limit, minContextSlot: slot, commitment: 'confirmed' },
    ])
    return list(found).map((one) => textOf(record(one)['signature']))
  }

  /** A confirmed transaction with its error; null if there is none. */
  async transaction(signature: string): Promise<{ bytes: Buffer; err: unknown } | null> {
    const found = await this.#call('getTransaction', [
      signature,
      { ...BASE64, maxSupportedTransactionVersion: 0, commitment: 'confirmed' },
    ])
    if (found === null) return null
    const { transaction, meta } = record(found)
    return { bytes: bytesOf(transaction), err: errorIn(meta) }
  }

  /** The newest finalized block. */
  async finalBlock(): Promise<{ readonly slot: number; readonly atMs: number }> {
    const slot = await this.#call('getSlot', [{ commitment: 'finalized' }])
    const seconds = await this.#call('getBlockTime', [slot])
    if (typeof slot !== 'number' || typeof seconds !== 'number') throw unreadable()
    return { slot, atMs: seconds * 1_000 }
  }

  /** Finalized transactions with an account, newest first, older than `before`. */
  async finalSignaturesFor(
    key: string,
    limit: number,
    before: string | null,
  ): Promise<readonly ListedTransaction[]> {
    const found = await this.#call('getSignaturesForAddress', [
      key,
      { limit, commitment: 'finalized', ...(before === null ? {} : { before }) },
    ])
    return list(found).map((one) => {
      const { signature, blockTime } = record(one)
      const atMs = typeof blockTime === 'number' ? blockTime * 1_000 : null
      return { signature: textOf(signature), err: errorIn(one), atMs }
    })
  }

  /** A finalized transaction and its changes of the balances of a token; null if there is none. */
  async tokenChanges(signature: string, mint: string): Promise<TokenChanges | null> {
    const found = await this.#call('getTransaction', [
      signature,
      { ...BASE64, maxSupportedTransactionVersion: 0, commitment: 'finalized' },
    ])
    if (found === null) return null
    const { transaction, meta } = record(found)
    const { preTokenBalances, postTokenBalances } = record(meta)
    const changes = new Map<string, bigint>()
    const add = (balances: unknown, sign: bigint) => {
      for (const balance of list(balances)) {
        const { mint: token, owner, uiTokenAmount } = record(balance)
        if (token !== mint || typeof owner !== 'string') continue
        const change = sign * BigInt(textOf(record(uiTokenAmount)['amount']))
        changes.set(owner, (changes.get(owner) ?? 0n) + change)
      }
    }
    add(preTokenBalances, -1n)
    add(postTokenBalances, 1n)
    for (const [owner, change] of changes) if (change === 0n) changes.delete(owner)
    return { bytes: bytesOf(transaction), err: errorIn(meta), changes }
  }

  async #atSlot(method: string, params: readonly unknown[]): Promise<AtSlot<unknown>> {
    const { context, value } = record(await this.#call(method, params))
    const { slot } = record(context)
    if (typeof slot !== 'number' || value === undefined) throw unreadable()
    return { slot, value }
  }

  async #call(method: string, params: readonly unknown[]): Promise<unknown> {
    const reply = await this.#reply(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = record(reply)
    if (result !== undefined) return result
    const { message, code } = record(error)
    throw new SolanaNodeError(
      'refused',
      `the node answered ${method} with error ${code}: ${message}`,
    )
  }

  async #reply(body: string): Promise<unknown> {
    const abort = new AbortController()
    const cancel = this.#clock.after(this.#requestMsMax, () => abort.abort())
    try {
      const response = await fetch(this.#rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        signal: abort.signal,
      })
      const text = await response.text()
      if (!response.ok)
        throw new SolanaNodeError('refused', `the node answered with status ${response.status}`)
      return JSON.parse(text)
    } catch (cause) {
      if (cause instanceof SolanaNodeError) throw cause
      if (neverConnected(cause)) throw new SolanaNodeError('unreached', 'no connection to the node')
      throw unreadable()
    } finally {
      cancel()
    }
  }
}

function unreadable(): SolanaNodeError {
  return new SolanaNodeError('unanswered', 'no valid answer from the node')
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw unreadable()
  return value
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unreadable()
  return value
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw unreadable()
  return value
}

/** null for success. A missing member does not mean success. */
function errorIn(value: unknown): unknown {
  const { err } = record(value)
  if (err === undefined) throw unreadable()
  return err
}

/** Decodes the pair of base64 data and its encoding name. */
function bytesOf(value: unknown): Buffer {
  return Buffer.from(textOf(list(value)[0]), 'base64')
}

function neverConnected(cause: unknown): boolean {
  const inner = cause instanceof Error ? cause.cause : undefined
  return isRecord(inner) && NEVER_CONNECTED.test(String(inner['code']))
}
