import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getBase58Decoder } from '@solana/kit'
import type { Hex, PrivateKeyAccount } from 'viem'
import {
  createTestClient,
  encodeFunctionData,
  http,
  parseAbi,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { base } from '../src/payment/evm/networks.ts'
import type { ContractCall } from '../src/payment/evm/transfer.ts'
import { MULTICALL3_ADDRESS, togetherCall, transferCall } from '../src/payment/evm/transfer.ts'
import type { PaymentState } from '../src/payment/ledger/ledger.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { readFeePayer } from '../src/payment/solana/fee-payer-key.ts'
import { solanaMainnet } from '../src/payment/solana/networks.ts'
import { newSolanaBuyer, signedTransfer } from '../src/payment/solana/testing/solana-buyer.ts'
import { decodeTransaction, encodeTransaction } from '../src/payment/solana/wire-transaction.ts'
import { newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { ledgerEntry } from '../src/payment/testing/ledger-entry.ts'
import { reconcile } from '../src/roles/ledger-reconcile.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'

const SALES = 1_000
const PLANTED = 20
const BATCH = 50
const PRICE = 25_000n
/** Anvil calls a block final that is this much older than the newest one. */
const FINAL_BEHIND = 64

const tokenAbi = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])

/** A row of the ledger, which a test may write falsely. */
type Sale = {
  readonly payer: string
  readonly nonce: string
  readonly network?: `${string}:${string}`
  readonly amount?: bigint
  readonly state?: Exclude<PaymentState, 'settling'>
  readonly transaction: string | null
}

let folder: string
let ledger: SqliteLedger

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perpscope-reconcile-'))
  ledger = new SqliteLedger(join(folder, 'ledger.db'), (task) => setImmediate(task))
})

afterEach(async () => {
  await ledger?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes a sale as the service does. */
async function write(sale: Sale, nowMs = Date.now()): Promise<void> {
  const { payer, nonce, network = base.network, amount = PRICE } = sale
  const { state = 'settled', transaction } = sale
  const entry = ledgerEntry(nonce)
  const key = { network, asset: base.asset, payer, nonce }
  await ledger.begin({ ...entry, key, amount, validBeforeSeconds: nowMs / 1_000 + 120 }, nowMs)
  await ledger.move(key, state, transaction, nowMs)
}

/** As `write`, together. */
async function writeAll(sales: readonly Sale[], nowMs = Date.now()): Promise<void> {
  await Promise.all(sales.map((sale) => write(sale, nowMs)))
}

type Report = {
  readonly result: string
  readonly compared: readonly Record<string, unknown>[]
  readonly differences: readonly Record<string, string>[]
}

const place = { network: 'base', solanaNetwork: 'mainnet' } as const
const newHash = () => toHex(randomBytes(32))

describe('on a local Base', () => {
  let chain: EvmChain
  let wallet: ReturnType<typeof newWallet>
  let buyers: readonly PrivateKeyAccount[]

  beforeAll(async () => {
    chain = await startEvmChain({ clock: systemClock })
    wallet = newWallet()
    buyers = Array.from({ length: 20 }, newBuyer)
    for (const { address } of buyers) await chain.fundUsdc(address, 100n * PRICE)
    await chain.fundUsdc(MULTICALL3_ADDRESS, 1_000_000n)
  })

  afterAll(() => chain?.close())

  function newWallet() {
    const account = privateKeyToAccount(chain.accounts.facilitator.privateKey)
    const options = { mode: 'anvil', chain: baseChain, account, pollingInterval: 20 } as const
    return createTestClient({ ...options, transport: http(chain.rpcUrl) })
      .extend(publicActions)
      .extend(walletActions)
  }

  async function mined(call: ContractCall): Promise<Hex> {
    const hash = await wallet.sendTransaction(call)
    // viem's own wait asks once a block, and no further block comes if the first question is too early.
    const receipt = () => wallet.getTransactionReceipt({ hash }).catch(() => null)
    await expect.poll(receipt, { interval: 10 }).not.toBeNull()
    return hash
  }

  /** Signed authorizations, each with its transfer. */
  async function authorized(count: number) {
    const payTo = chain.accounts.merchant.address
    return Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const buyer = buyers[index % buyers.length] as PrivateKeyAccount
        const { payload } = await signedPayload(buyer, {
          amount: PRICE,
          payTo,
          nowMs: Date.now(),
          validBeforeSeconds: BigInt(Math.floor(Date.now() / 1_000) + 3_600),
        })
        const { from, to, value, validAfter, validBefore, nonce } = payload.authorization
        const authorization = {
          from,
          to,
          nonce,
          value: BigInt(value),
          validAfter: BigInt(validAfter),
          validBefore: BigInt(validBefore),
        }
        const call = transferCall({
          authorization,
          signature: payload.signature,
          chain: base,
        } as ExactEvmPayment)
        return { payer: from, nonce, call }
      }),
    )
  }

  /** Transfers in batches, as the service sends them. */
  async function paid(
    count: number,
  ): Promise<readonly { payer: string; nonce: string; transaction: Hex }[]> {
    const all = await authorized(count)
    const found = []
    for (let at = 0; at < all.length; at += BATCH) {
      const some = all.slice(at, at + BATCH)
      const transaction = await mined(togetherCall(some.map(({ call }) => call)))
      for (const { payer, nonce } of some) found.push({ payer, nonce, transaction })
    }
    return found
  }

  const plain = (value: bigint): ContractCall => ({
    to: base.asset,
    data: encodeFunctionData({
      abi: tokenAbi,
      functionName: 'transfer',
      args: [chain.accounts.merchant.address, value],
    }),
    gas: 100_000n,
  })

  async function report(
    rpcUrl = chain.rpcUrl,
    sinceMs?: number,
  ): Promise<Report & { readonly isEqual: boolean }> {
    const { text, isEqual } = await reconciled({ rpcUrl, json: true }, sinceMs)
    return { ...(JSON.parse(text) as Report), isEqual }
  }

  async function reconciled(
    how: { readonly rpcUrl: string; readonly json?: true },
    sinceMs?: number,
  ): Promise<{ readonly text: string; readonly isEqual: boolean }> {
    let text = ''
    const write = (piece: string) => {
      text += piece
    }
    const payTo = chain.accounts.merchant.address
    const options = { ...place, dataDir: folder, payTo, ...how, until: Date.now() + 3_600_000 }
    const isEqual = await reconcile(
      {
        ...{ ...options, csv: join(folder, 'differences.csv') },
        ...(sinceMs !== undefined && { since: sinceMs }),
      },
      { write, hasColor: false },
    )
    return { text, isEqual }
  }

  test('a sale of the day before explains a transfer of the period', async () => {
    const sinceMs = Date.now() - 3_600_000
    await writeAll(await paid(1), sinceMs - 80_000_000)
    await wallet.mine({ blocks: FINAL_BEHIND + 10, interval: 2 })
    const { differences, compared } = await report(chain.rpcUrl, sinceMs)
    expect(differences).toEqual([])
    expect(compared, 'and is not of the period').toMatchObject([{ equal: 0 }])
  })

  test('a period after the last final block is not equal but refused', async () => {
    await expect(report(chain.rpcUrl, Date.now() + 3_500_000)).rejects.toThrow(
      /^nothing can be compared on eip155:8453: the period begins at .*, after the last final block/,
    )
  })

  test('without --since, a ledger whose first sale is not final yet is incomplete', async () => {
    const sale = { payer: newBuyer().address, nonce: newHash(), transaction: newHash() }
    await write(sale, Date.now() + 3_500_000)
    expect(await report()).toMatchObject({
      ...{ isEqual: true, result: 'incomplete' },
      compared: [{ equal: 0, not_final: 1 }],
    })
    expect((await reconciled({ rpcUrl: chain.rpcUrl })).text).toMatch(
      /; 1 settled later is not compared yet\nno differences; 1 payment is not final yet\n$/,
    )
  })

  test('settled payments on a network without its payee are named with the options', async () => {
    await write({ payer: 'x', nonce: newHash(), network: solanaMainnet.network, transaction: 'x' })
    await expect(report()).rejects.toThrow(
      /1 settled payments on solana:.*: give --solana-pay-to and --solana-rpc-url/,
    )
  })

  test(`no difference among ${SALES} sales, then every planted one`, async () => {
    await writeAll(await paid(SALES))
    // Settled by a transaction that a stranger sent, and a sale by voucher.
    await writeAll((await paid(10)).map((sale) => ({ ...sale, transaction: newHash() })))
    for (let at = 0; at < 10; at += 1)
      await write({ payer: '0xB', nonce: `0xchannel:${at}`, transaction: '' })
    await write({ payer: '0xB', nonce: newHash(), state: 'unknown', transaction: null })
    await wallet.mine({ blocks: FINAL_BEHIND + 10, interval: 2 })
    await writeAll(await paid(3))
    const equal = await report()
    expect(equal.differences).toEqual([])
    expect(equal).toMatchObject({ isEqual: true, result: 'incomplete' })
    expect((await reconciled({ rpcUrl: chain.rpcUrl })).text).toMatch(
      /\nno differences; 3 payments are not final yet\n$/,
    )
    expect(equal.compared).toMatchObject([
      { equal: SALES + 10, equal_usdc: '25.250000', not_final: 3, vouchers: 10 },
    ])

    const planted = new Map<string, readonly [kind: string, reason: string]>()
    const plant = async (kind: string, reason: string, sale: Sale) => {
      planted.set(sale.nonce, [kind, reason])
      await write(sale)
    }
    const failed = await wallet.sendTransaction({ ...plain(10n ** 15n), gas: 100_000n })
    const twin = (await paid(5)) as readonly Sale[]
    await writeAll(twin)
    for (let at = 0; at < PLANTED / 4; at += 1) {
      const payer = buyers[at]?.address as string
      const row = () => ({ payer, nonce: newHash() })
      await plant('missing', 'no_transaction', { ...row(), transaction: null })
      await plant('missing', 'transaction_absent', { ...row(), transaction: newHash() })
      await plant('missing', 'transaction_failed', { ...row(), transaction: failed })
      const taken = {
        ...row(),
        payer: twin[at]?.payer ?? '',
        transaction: twin[at]?.transaction ?? '',
      }
      await plant('missing', 'transfer_of_another_payment', taken)
    }
    for (const sale of await paid(10))
      await plant('surplus', 'other_amount', { ...sale, amount: PRICE - 1n })
    for (const sale of await paid(5))
      await plant('surplus', 'not_settled_in_ledger', { ...sale, state: 'lost' })
    const doubled: string[] = []
    for (let at = 0; at < 5; at += 1) {
      const transaction = await mined(togetherCall([plain(PRICE), plain(PRICE)]))
      doubled.push(transaction)
      await write({ payer: MULTICALL3_ADDRESS, nonce: newHash(), transaction })
    }
    const unknown: string[] = []
    for (let at = 0; at < 10; at += 1)
      unknown.push(await mined(togetherCall([plain(BigInt(at + 1))])))
    for (const { transaction } of await paid(10)) unknown.push(transaction)
    await wallet.mine({ blocks: FINAL_BEHIND + 10, interval: 2 })

    const { isEqual, differences } = await report()
    expect(isEqual).toBe(false)
    const named = new Map(
      differences.map(({ nonce = '', kind, reason }) => [nonce, [kind, reason]]),
    )
    for (const [nonce, found] of planted) expect(named.get(nonce)).toEqual(found)
    const of = (kind: string) => differences.filter((one) => one['kind'] === kind)
    expect([of('missing').length, of('surplus').length, of('unknown').length]).toEqual([
      PLANTED,
      PLANTED,
      PLANTED,
    ])
    const twice = differences.filter(({ reason }) => reason === 'transferred_twice')
    expect(twice.map(({ transaction }) => transaction).sort()).toEqual(doubled.sort())
    expect(
      of('unknown')
        .map(({ transaction }) => transaction)
        .sort(),
    ).toEqual(unknown.sort())
    const csv = readFileSync(join(folder, 'differences.csv'), 'utf8').trim().split('\r\n')
    expect(csv).toHaveLength(1 + 3 * PLANTED)
  })
})

describe('on a local Solana', () => {
  const sales = 200
  let shiftMs = 0
  let chain: SolanaChain

  beforeAll(async () => {
    chain = await startSolanaChain({
      clock: { ...systemClock, nowMs: () => Date.now() + shiftMs },
    })
  })

  afterAll(() => chain?.close())

  async function asked(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(chain.rpcUrl, { method: 'POST', headers, body })
    return ((await response.json()) as { result: unknown }).result
  }

  /** Transfers, each in a transaction of its own. */
  async function paid(count: number, funds = PRICE): Promise<readonly Sale[]> {
    const { facilitator, merchant } = chain.accounts
    const feePayer = readFeePayer(JSON.stringify([...facilitator.seed]))
    const { value } = (await asked('getLatestBlockhash', {})) as { value: { blockhash: string } }
    const found: Sale[] = []
    for (let at = 0; at < count; at += 1) {
      const buyer = newSolanaBuyer()
      chain.fundUsdc(buyer.address, funds)
      const choices = { amount: PRICE, payTo: merchant.address, feePayer: facilitator.address }
      const transfer = decodeTransaction(
        await signedTransfer(buyer, { ...choices, blockhash: value.blockhash }),
      )
      const signature = feePayer.key.sign(transfer.message)
      const options = { encoding: 'base64', skipPreflight: true }
      await asked('sendTransaction', encodeTransaction(transfer, signature), options)
      found.push({
        payer: buyer.address,
        nonce: createHash('sha256').update(transfer.message).digest('hex'),
        network: solanaMainnet.network,
        transaction: getBase58Decoder().decode(signature),
      })
    }
    return found
  }

  async function report(): Promise<Report> {
    let text = ''
    const write = (piece: string) => {
      text += piece
    }
    const payee = { solanaPayTo: chain.accounts.merchant.address, solanaRpcUrl: chain.rpcUrl }
    const how = { ...place, json: true } as const
    const options = { ...how, ...payee, dataDir: folder, until: Date.now() + 3_600_000 }
    await reconcile(options, { write, hasColor: false })
    return JSON.parse(text) as Report
  }

  test(`no difference among ${sales} sales, then every planted one`, async () => {
    await writeAll(await paid(sales))
    shiftMs += 120_000
    const equal = await report()
    expect(equal).toMatchObject({
      ...{ result: 'equal', differences: [] },
      compared: [{ equal: sales, not_final: 0 }],
    })

    await writeAll(await paid(5, 0n))
    for (let at = 0; at < 5; at += 1)
      await write({
        ...{ payer: newSolanaBuyer().address, nonce: newHash(), transaction: null },
        network: solanaMainnet.network,
      })
    for (let at = 0; at < 10; at += 1)
      await write({
        ...{ payer: newSolanaBuyer().address, nonce: newHash(), network: solanaMainnet.network },
        transaction: getBase58Decoder().decode(randomBytes(64)),
      })
    await writeAll((await paid(10)).map((sale) => ({ ...sale, amount: PRICE + 1n })))
    await writeAll((await paid(10)).map((sale) => ({ ...sale, state: 'released' })))
    const unknown = await paid(PLANTED)
    shiftMs += 120_000

    const { differences } = await report()
    const reasons = differences.map(({ kind, reason }) => `${kind}: ${reason}`)
    const counted = Object.entries(Object.groupBy(reasons, (reason) => reason)).map(
      ([reason, all = []]) => [reason, all.length],
    )
    expect(Object.fromEntries(counted)).toEqual({
      'missing: no_transaction': 5,
      'missing: transaction_absent': 10,
      'missing: transaction_failed': 5,
      'surplus: other_amount': 10,
      'surplus: not_settled_in_ledger': 10,
      'unknown: no_payment': PLANTED,
    })
    const named = differences.filter(({ kind }) => kind === 'unknown')
    expect(named.map(({ transaction }) => transaction).sort()).toEqual(
      unknown.map(({ transaction }) => transaction).sort(),
    )
  })
})
