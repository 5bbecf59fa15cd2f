import type { Hex, Log } from 'viem'
import {
  encodeAbiParameters,
  encodeEventTopics,
  pad,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
} from 'viem'
import { describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { Verification } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { base } from './networks.ts'
import { Settlements } from './settlements.ts'
import { tokenAbi as abi } from './token-abi.ts'

const NOW_SECONDS = 1_000_000
const VALID_BEFORE = BigInt(NOW_SECONDS + 60)
const account = pad('0x0a', { size: 20 })
const stranger = pad('0x0b', { size: 20 })
const authorization = {
  ...{ from: pad('0x0c', { size: 20 }), to: pad('0x0d', { size: 20 }), value: 20_000n },
  ...{ validAfter: 0n, validBefore: VALID_BEFORE, nonce: pad('0x0e') },
}
const payment = {
  ...{ hash: 'payment', payer: authorization.from, chain: base, authorization },
  signature: `0x${'1'.repeat(128)}1b`,
} as unknown as ExactEvmPayment
const [ours, newer, theirs] = [pad('0x01'), pad('0x02'), pad('0x03')]

const eventLog = (topics: readonly unknown[], data: Hex) =>
  ({ address: base.asset, topics, data }) as unknown as Log
const { from, to, value, nonce } = authorization
const paying = [
  eventLog(
    encodeEventTopics({
      ...{ abi, eventName: 'AuthorizationUsed' },
      args: { authorizer: from, nonce },
    }),
    '0x',
  ),
  eventLog(
    encodeEventTopics({ abi, eventName: 'Transfer', args: { from, to } }),
    encodeAbiParameters([{ type: 'uint256' }], [value]),
  ),
]

type Mined = { readonly from: Hex; readonly logs: readonly Log[]; readonly gasUsed: bigint }
const failing: Mined = { from: account, logs: [], gasUsed: 40_000n }

/** Settlements over a chain of one sealed block. */
function rig(options: { verification?: Verification; blockSeconds?: bigint; code?: Hex } = {}) {
  const { verification = { kind: 'valid' }, blockSeconds = BigInt(NOW_SECONDS) } = options
  /** Transactions of the chain; null for one without a block. */
  const chain = new Map<Hex, Mined | null>()
  const failed = vi.fn(async (_failure: object): Promise<void> => {})
  const payers = {
    ...{ failed, release: vi.fn() },
    refusal: vi.fn(async () => null),
    reserve: vi.fn(async () => 7),
  }
  const uses = () => [...chain].find(([, mined]) => mined?.logs === paying)
  const node = {
    getBlockNumber: async () => 5n,
    getBlock: async () => ({ number: 5n, timestamp: blockSeconds }),
    getCode: async () => options.code,
    getTransaction: async ({ hash }: { hash: Hex }) => {
      if (!chain.has(hash)) throw new TransactionNotFoundError({ hash })
      return { to: base.asset, input: '0x', gas: 110_000n }
    },
    getTransactionReceipt: async ({ hash }: { hash: Hex }) => {
      const mined = chain.get(hash) ?? null
      if (mined === null) throw new TransactionReceiptNotFoundError({ hash })
      return { ...mined, transactionHash: hash, blockNumber: 5n }
    },
    readContract: async () => uses() !== undefined,
    request: async () => {
      const [transactionHash, mined] = uses() ?? []
      return mined?.logs.slice(0, 1).map((log) => ({ ...log, transactionHash }))
    },
  }
  const simulation = { verify: async () => verification }
  const clock = new ManualClock(NOW_SECONDS * 1_000)
  const settlements = new Settlements({
    ...{ node: node as never, clock, account, onMined: () => undefined },
    simulation: simulation as never,
    payers: payers as never,
    sender: {
      discardNonce: () => undefined,
      send: async (_call: object, { onSigned }: { onSigned(hash: Hex): void }) => {
        onSigned(ours)
        return { hash: ours, receipt: await node.getTransactionReceipt({ hash: ours }) }
      },
    } as never,
  })
  return { settlements, chain, failed, payers, node, simulation, clock }
}

const expired: Verification = {
  kind: 'invalid',
  reason: 'invalid_exact_evm_payload_authorization_valid_before',
}

test('a payer whose payment a stranger submitted is not struck, although it has expired since', async () => {
  const { settlements, chain, failed } = rig({ verification: expired })
  chain.set(ours, failing)
  chain.set(theirs, { from: stranger, logs: paying, gasUsed: 60_000n })
  expect(await settlements.isPending(payment, ours)).toBe(false)
  expect(failed.mock.calls).toMatchObject([[{ transaction: ours, strikes: 0 }]])
})

test('a payer whose money is gone is struck', async () => {
  const { settlements, chain, failed } = rig({
    verification: { kind: 'invalid', reason: 'insufficient_funds' },
  })
  chain.set(ours, failing)
  expect(await settlements.isPending(payment, ours)).toBe(false)
  expect(failed.mock.calls).toMatchObject([[{ transaction: ours, strikes: 1 }]])
})

const late = BigInt(NOW_SECONDS + 60)

test('a payer whose block came after the expiry is not struck, within the wait and after it', async () => {
  const within = rig({ verification: expired, blockSeconds: late })
  within.chain.set(ours, failing)
  expect(await within.settlements.settle(payment, 'confirmed', null)).toMatchObject({
    kind: 'rejected',
  })
  expect(within.failed.mock.calls).toMatchObject([[{ transaction: ours, strikes: 0 }]])
  const after = rig({ verification: expired, blockSeconds: late })
  after.chain.set(ours, failing)
  await after.settlements.isPending(payment, ours)
  expect(after.failed.mock.calls).toMatchObject([[{ transaction: ours, strikes: 0 }]])
})

test('gas that another payment of the transaction burnt is no strike for an expired key', async () => {
  const burnt = { ...failing, gasUsed: 110_000n }
  for (const [code, strikes] of [
    [undefined, 0],
    ['0x60', 3],
  ] as const) {
    const { settlements, chain, failed } = rig({
      ...{ verification: expired, blockSeconds: late },
      ...(code && { code }),
    })
    chain.set(ours, burnt)
    await settlements.isPending(payment, ours)
    expect(failed.mock.calls).toMatchObject([[{ strikes }]])
  }
})

test('a failure that could not be recorded is looked at again, with its reservation once', async () => {
  const { settlements, chain, failed } = rig({ code: '0x60' })
  chain.set(ours, failing)
  failed.mockRejectedValueOnce(new Error('the database is away'))
  const settled = await settlements.settle(payment, 'confirmed', '0x60')
  expect(settled).toEqual({ kind: 'unknown', reason: 'the database is away', transaction: ours })
  failed.mockRejectedValueOnce(new Error('the database is away'))
  expect(await settlements.isPending(payment, ours)).toBe(true)
  const looks = await Promise.all([1, 2].map(() => settlements.isPending(payment, ours)))
  expect(looks).toEqual([false, false])
  expect(await settlements.isPending(payment, ours)).toBe(false)
  expect(failed.mock.calls).toMatchObject([
    ...Array(3).fill([{ reserved: 7, strikes: 3 }]),
    [{ reserved: null, strikes: 3 }],
  ])
})

describe('a failed transaction is judged once the node shows how', () => {
  const gone: Verification = { kind: 'invalid', reason: 'insufficient_funds' }
  const away = () => Promise.reject(new Error('the node is away'))
  type Rig = ReturnType<typeof rig>

  test.each<[string, (rig: Rig) => void]>([
    ['the use of the nonce', ({ node }) => vi.spyOn(node, 'readContract').mockImplementation(away)],
    [
      'its block',
      ({ node }) => vi.spyOn(node, 'getBlock').mockResolvedValue({ number: 4n, timestamp: 1n }),
    ],
    [
      'a simulation',
      ({ simulation }) =>
        vi.spyOn(simulation, 'verify').mockResolvedValue({ kind: 'unreachable', reason: 'away' }),
    ],
    ['the code of the payer', ({ node }) => vi.spyOn(node, 'getCode').mockImplementation(away)],
  ])('and not without %s', async (_what, hide) => {
    const made = rig({ verification: gone })
    const { settlements, chain, failed } = made
    chain.set(ours, failing)
    hide(made)
    expect(await settlements.settle(payment, 'confirmed', null)).toMatchObject({
      ...{ kind: 'unknown', transaction: ours },
    })
    expect(await settlements.isPending(payment, ours), 'it stays open').toBe(true)
    expect(failed.mock.calls).toEqual([])
    vi.restoreAllMocks()
    expect(await settlements.isPending(payment, ours)).toBe(false)
    expect(failed.mock.calls).toMatchObject([[{ transaction: ours, strikes: 1 }]])
  })
})

test('the gas of a shared transaction counts whole for one payment, also after a fault of the database', async () => {
  const { settlements, chain, failed, clock, node } = rig({ verification: expired })
  chain.set(ours, { ...failing, logs: paying })
  await settlements.settle(payment, 'confirmed', null)
  chain.set(ours, failing)
  vi.spyOn(node, 'getCode').mockResolvedValue('0x60')
  const both = ['second', 'third'].map((hash) => ({ ...payment, hash }))
  const settled = both.map((one) => settlements.settle(one, 'confirmed', null))
  failed.mockRejectedValueOnce(new Error('the database is away'))
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(100)
  expect(await Promise.all(settled)).toMatchObject([{ kind: 'unknown' }, { kind: 'rejected' }])
  expect(await settlements.isPending(both[0] as ExactEvmPayment, ours)).toBe(false)
  const whole = { gas: failing.gasUsed }
  const half = { gas: failing.gasUsed / 2n }
  expect(failed.mock.calls).toMatchObject([[whole], [half], [whole]])
})

test('nothing was sent where the database of failures is away', async () => {
  const { settlements, chain, payers } = rig()
  chain.set(ours, failing)
  const away = { kind: 'unreachable', reason: 'the database is away' }
  payers.reserve.mockRejectedValueOnce(new Error(away.reason))
  expect(await settlements.settle(payment, 'confirmed', '0x60')).toEqual(away)
  payers.refusal.mockRejectedValueOnce(new Error(away.reason))
  expect(await settlements.settle(payment, 'confirmed', null)).toEqual(away)
})

test('the transaction of another gateway waits although the own one has failed', async () => {
  const { settlements, chain, failed } = rig({ verification: expired })
  chain.set(ours, null)
  expect(await settlements.settle(payment, 'confirmed', null)).toMatchObject({ kind: 'unknown' })
  chain.set(ours, failing)
  chain.set(newer, null)
  expect(await settlements.isPending(payment, newer)).toBe(true)
  chain.set(newer, failing)
  expect(await settlements.isPending(payment, newer)).toBe(false)
  const judged = [[{ transaction: ours }], [{ transaction: newer }]]
  expect(failed.mock.calls).toMatchObject(judged)
  for (const sent of [ours, newer]) expect(await settlements.isPending(payment, sent)).toBe(false)
  expect(failed.mock.calls, 'each once').toMatchObject(judged)
})
