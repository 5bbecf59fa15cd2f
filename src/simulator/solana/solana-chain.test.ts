import { once } from 'node:events'
import { connect } from 'node:net'
import type { Instruction, KeyPairSigner } from '@solana/kit'
import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromPrivateKeyBytes,
  createSolanaRpc,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  isSolanaError,
  SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { getAccount, getAssociatedTokenAddressSync, getMint } from '@solana/spl-token'
import { Connection, PublicKey } from '@solana/web3.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { SolanaChain } from './solana-chain.ts'
import { startSolanaChain } from './solana-chain.ts'

const MEMO = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')
const COMPUTE_BUDGET = address('ComputeBudget111111111111111111111111111111')
const COMMITMENT = { commitment: 'processed' } as const
const BLOCKHASH_LIFE_MS = 150 * 400

/** One signature, and a message of version 1. */
const UNKNOWN_VERSION = Buffer.from([1, ...Array<number>(64).fill(0), 0x81, 1, 0, 0]).toString(
  'base64',
)

let clock: ManualClock
let chain: SolanaChain

beforeEach(async () => {
  clock = new ManualClock()
  chain = await startSolanaChain({ clock, confirmationMs: 800 })
})

afterEach(() => chain.close())

const kit = () => createSolanaRpc(chain.rpcUrl)
const facilitator = () => createKeyPairSignerFromPrivateKeyBytes(chain.accounts.facilitator.seed)

/** A transaction that only says something, by whoever pays for it. */
async function said(signer: KeyPairSigner, text = 'hello', first: readonly Instruction[] = []) {
  const { value } = await kit().getLatestBlockhash({ commitment: 'confirmed' }).send()
  const message = appendTransactionMessageInstructions(
    [...first, { programAddress: MEMO, data: new TextEncoder().encode(text) }],
    setTransactionMessageLifetimeUsingBlockhash(
      value,
      setTransactionMessageFeePayerSigner(signer, createTransactionMessage({ version: 0 })),
    ),
  )
  const transaction = await signTransactionMessageWithSigners(message)
  return {
    signature: getSignatureFromTransaction(transaction),
    wire: getBase64EncodedWireTransaction(transaction),
    blockhash: value.blockhash,
  }
}

const budget = (data: Uint8Array) => ({ programAddress: COMPUTE_BUDGET, data })

const send = (wire: Awaited<ReturnType<typeof said>>['wire'], skipPreflight = true) =>
  kit().sendTransaction(wire, { encoding: 'base64', skipPreflight }).send()

async function statusOf(signature: Awaited<ReturnType<typeof said>>['signature']) {
  const { value } = await kit().getSignatureStatuses([signature]).send()
  return value[0]?.confirmationStatus ?? null
}

describe('the accounts', () => {
  test('of the token read as those of USDC by its own library', async () => {
    const connection = new Connection(chain.rpcUrl, 'confirmed')
    const usdc = new PublicKey(chain.usdc)
    const buyer = new PublicKey(chain.accounts.buyer.address)
    const mint = await getMint(connection, usdc)
    expect(mint).toMatchObject({ decimals: 6, isInitialized: true })
    const key = getAssociatedTokenAddressSync(usdc, buyer)
    const account = await getAccount(connection, key)
    expect(account.amount).toBe(chain.balanceOf(chain.accounts.buyer.address))
    expect(account.owner).toEqual(buyer)
    expect(account.isFrozen).toBe(false)
    const balance = await connection.getTokenAccountBalance(key)
    expect(balance.value).toMatchObject({ amount: '1000000000', decimals: 6, uiAmount: 1_000 })
    const [first, none] = await connection.getMultipleAccountsInfo([
      key,
      new PublicKey(chain.accounts.merchant.address),
    ])
    expect(first?.data).toHaveLength(165)
    expect(none, 'it holds no SOL').toBeNull()
  })

  test('hold what they were given, and what is minted adds to it', async () => {
    const { merchant } = chain.accounts
    chain.fundUsdc(merchant.address, 5n)
    chain.fundUsdc(merchant.address, 6n)
    expect(chain.balanceOf(merchant.address)).toBe(11n)
    chain.setLamports(merchant.address, 7_000_000n)
    const { value } = await kit().getBalance(merchant.address).send()
    expect(value).toBe(7_000_000n)
    expect(chain.lamportsOf(merchant.address)).toBe(7_000_000n)
  })
})

describe('time', () => {
  test('makes a slot every 400 ms, and a blockhash lives for 150 of them', async () => {
    const slot = await kit().getSlot({ commitment: 'processed' }).send()
    const { blockhash } = await said(await facilitator())
    const isValid = async () =>
      (await kit().isBlockhashValid(blockhash, { commitment: 'processed' }).send()).value
    clock.advance(BLOCKHASH_LIFE_MS)
    expect(await kit().getSlot({ commitment: 'processed' }).send()).toBe(slot + 150n)
    expect(await isValid()).toBe(true)
    clock.advance(400)
    expect(await isValid()).toBe(false)
  })

  test('tells the height of a block from its slot, as the real one does', async () => {
    const { value } = await kit().getLatestBlockhash({ commitment: 'processed' }).send()
    const height = await kit().getBlockHeight({ commitment: 'processed' }).send()
    expect(value.lastValidBlockHeight).toBe(height + 150n)
    expect(await kit().getSlot().send()).not.toBe(height)
  })

  test('can be skipped, so that nothing signed before is of any use', async () => {
    const { blockhash } = await said(await facilitator())
    chain.expireBlockhashes()
    for (const commitment of ['processed', 'finalized'] as const) {
      const { value } = await kit().isBlockhashValid(blockhash, { commitment }).send()
      expect(value).toBe(false)
    }
  })
})

describe('a transaction', () => {
  test('is processed, then confirmed, then finalized, and can be read', async () => {
    const signer = await facilitator()
    const { signature, wire } = await said(signer, 'paid')
    expect(await send(wire)).toBe(signature)
    expect(await statusOf(signature)).toBe('processed')
    clock.advance(800)
    expect(await statusOf(signature)).toBe('confirmed')
    clock.advance(32 * 400)
    expect(await statusOf(signature)).toBe('finalized')
    const read = await kit()
      .getTransaction(signature, { encoding: 'base64', maxSupportedTransactionVersion: 0 })
      .send()
    expect(read?.transaction[0]).toBe(wire)
    expect(read?.meta?.fee).toBe(5_000n)
    const listed = await kit().getSignaturesForAddress(signer.address).send()
    expect(listed.map((one) => one.signature)).toEqual([signature])
  })

  test('lands once, however often it is sent', async () => {
    const { wire } = await said(await facilitator())
    const before = chain.lamportsOf(chain.accounts.facilitator.address)
    await send(wire)
    await send(wire)
    expect(before - chain.lamportsOf(chain.accounts.facilitator.address)).toBe(5_000n)
  })

  test('is accepted and forgotten where its blockhash has expired', async () => {
    const { signature, wire } = await said(await facilitator())
    chain.expireBlockhashes()
    expect(await send(wire)).toBe(signature)
    expect(await statusOf(signature)).toBeNull()
  })

  test('waits while blocks are held, and lands when they are released', async () => {
    const { signature, wire } = await said(await facilitator())
    chain.hold()
    await send(wire)
    expect(chain.held()).toBe(1)
    expect(await statusOf(signature)).toBeNull()
    chain.release()
    expect(await statusOf(signature)).toBe('processed')
  })

  test('that waits is gone when it is dropped', async () => {
    const { signature, wire } = await said(await facilitator())
    chain.hold()
    await send(wire)
    chain.drop()
    chain.release()
    expect(await statusOf(signature)).toBeNull()
  })

  test('that would fail is refused by a node that may look first', async () => {
    const poor = await createKeyPairSignerFromPrivateKeyBytes(chain.accounts.merchant.seed)
    const { wire } = await said(poor)
    const refused = await send(wire, false).catch((cause: unknown) => cause)
    expect(
      isSolanaError(
        refused,
        SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
      ),
    ).toBe(true)
  })

  test('is simulated without its signatures, unless they are asked for', async () => {
    const { wire } = await said(await facilitator())
    const bytes = Buffer.from(wire, 'base64')
    bytes.fill(0, 1, 65)
    const unsigned = bytes.toString('base64') as typeof wire
    const errorOf = async (sigVerify: boolean) => {
      const config = { encoding: 'base64', sigVerify, commitment: 'processed' } as const
      return (
        await kit()
          .simulateTransaction(unsigned, config as never)
          .send()
      ).value.err
    }
    expect(await errorOf(false)).toBeNull()
    expect(await errorOf(true)).toBe('SignatureFailure')
  })
})

describe('a fee', () => {
  test('is told beforehand as it is taken afterwards, with the priority', async () => {
    const signer = await facilitator()
    const { wire } = await said(signer, 'urgent', [
      budget(Buffer.from('02204e0000', 'hex')),
      budget(Buffer.from('0340420f0000000000', 'hex')),
    ])
    const message = Buffer.from(wire, 'base64').subarray(65).toString('base64')
    const { value } = await kit()
      .getFeeForMessage(message as never, COMMITMENT)
      .send()
    const before = chain.lamportsOf(signer.address)
    await send(wire)
    // 20,000 units at a lamport each, and one signature.
    expect(value).toBe(25_000n)
    expect(before - chain.lamportsOf(signer.address)).toBe(25_000n)
  })

  test('is not told for a message that no block would take any more', async () => {
    const { wire } = await said(await facilitator())
    chain.expireBlockhashes()
    const message = Buffer.from(wire, 'base64').subarray(65).toString('base64')
    const { value } = await kit()
      .getFeeForMessage(message as never, COMMITMENT)
      .send()
    expect(value).toBeNull()
  })
})

describe('the node', () => {
  test('names the main net by its genesis', async () => {
    expect((await kit().getGenesisHash().send()).slice(0, 32)).toBe(
      '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    )
  })

  test('knows no other call, and says so as a node does', async () => {
    const refused = await kit()
      .getInflationRate()
      .send()
      .catch((cause: unknown) => cause)
    expect(isSolanaError(refused, SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND)).toBe(true)
  })

  test('does not speak for a slot that it has not seen', async () => {
    const slot = await kit().getSlot({ commitment: 'processed' }).send()
    const refused = await kit()
      .getBalance(chain.usdc, { commitment: 'processed', minContextSlot: slot + 1n })
      .send()
      .catch((cause: unknown) => cause)
    expect(
      isSolanaError(refused, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED),
    ).toBe(true)
  })

  test.each([
    ['not json', -32_700],
    ['[]', -32_600],
    ['{"id":1}', -32_600],
    ['{"id":1,"method":"getBalance","params":[7]}', -32_602],
    ['{"id":1,"method":"sendTransaction","params":["AAAA",{"encoding":"base64"}]}', -32_602],
    ['{"id":1,"method":"getSlot","params":[{"commitment":"soon"}]}', -32_602],
    ['{"id":1,"method":"getMinimumBalanceForRentExemption"}', -32_602],
    [
      `{"id":1,"method":"sendTransaction","params":["${UNKNOWN_VERSION}",{"encoding":"base64"}]}`,
      -32_602,
    ],
  ])('answers %s with an error of JSON-RPC', async (body, code) => {
    const response = await fetch(chain.rpcUrl, { method: 'POST', body })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ error: { code } })
  })

  test('goes on after an upload that its client aborts', async () => {
    const { hostname, port } = new URL(chain.rpcUrl)
    const socket = connect(Number(port), hostname)
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n{')
    // The node reads the body by then.
    await once(socket, 'data')
    socket.resetAndDestroy()
    await once(socket, 'close')
    expect((await fetch(chain.rpcUrl, { method: 'POST', body: '{}' })).status).toBe(200)
  })

  test('reads no more than a node does', async () => {
    const response = await fetch(chain.rpcUrl, { method: 'POST', body: ' '.repeat(60_000) })
    expect(response.status).toBe(413)
    expect((await fetch(chain.rpcUrl)).status).toBe(405)
  })
})
