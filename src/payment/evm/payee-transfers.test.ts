import type { Address, Hex } from 'viem'
import { createPublicClient, custom, pad, RpcRequestError, toHex } from 'viem'
import { base as baseChain } from 'viem/chains'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../domain/clock.ts'
import { compareWithChain } from '../ledger/chain-comparison.ts'
import type { ReportedPayment } from '../ledger/ledger-books.ts'
import { patientNode } from '../patient-node.ts'
import { base } from './networks.ts'
import type { NodeClient } from './node-client.ts'
import { evmPayeeTransfers } from './payee-transfers.ts'

const PAYEE: Address = '0x00000000000000000000000000000000000000a1'
const PAYER: Address = '0x00000000000000000000000000000000000000b2'
const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const START_MS = Date.UTC(2026, 0, 1)
const BLOCKS = 40_000
/** Two seconds a block, as on Base. */
const END_MS = START_MS + BLOCKS * 2_000
const PERIOD = { sinceMs: START_MS + 3_600_000, untilMs: END_MS }

type Request = { readonly method: string; readonly params?: readonly unknown[] }

/** Waits are over at once. */
const impatient = {
  nowMs: () => END_MS,
  after: (_ms: number, task: () => void) => {
    queueMicrotask(task)
    return () => undefined
  },
} as Clock

/** A node with a transfer of one atom in each of these blocks. */
function chainWith(
  blocks: readonly number[],
  rule: (request: Request) => void = () => undefined,
  others: readonly ReturnType<typeof logOf>[] = [],
) {
  const asked: Request[] = []
  const request = async ({ method, params = [] }: Request): Promise<unknown> => {
    asked.push({ method, params })
    rule({ method, params })
    if (method === 'eth_getBlockByNumber') {
      const [tag] = params as [Hex | 'finalized']
      const number = tag === 'finalized' ? BLOCKS : Number(tag)
      return { number: toHex(number), timestamp: toHex(START_MS / 1_000 + 2 * number) }
    }
    if (method === 'eth_getTransactionReceipt') {
      const [hash] = params as [Hex]
      const log = logOf(Number(hash))
      return { transactionHash: hash, blockNumber: log.blockNumber, status: '0x1', logs: [log] }
    }
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: Hex; toBlock: Hex }]
    return [...blocks.map(logOf), ...others].filter(
      ({ blockNumber: at }) => Number(at) >= Number(fromBlock) && Number(at) <= Number(toBlock),
    )
  }
  const node = createPublicClient({
    chain: baseChain,
    transport: custom({ request }, { retryCount: 0 }),
  }) as NodeClient
  const chain = evmPayeeTransfers({
    ...{ network: base, payTo: PAYEE, node, channelContract: pad('0x1', { size: 20 }) },
    patience: patientNode('the node', impatient, () => 0),
  })
  return { chain, asked }
}

function logOf(block: number) {
  return {
    ...{ address: base.asset, data: pad(toHex(1)), topics: [TRANSFER, pad(PAYER), pad(PAYEE)] },
    ...{ blockNumber: toHex(block), transactionHash: transactionIn(block), logIndex: '0x0' },
  }
}

function transactionIn(block: number): Hex {
  return pad(toHex(block))
}

function paymentIn(block: number): ReportedPayment {
  const begunMs = START_MS + block * 2_000
  return {
    ...{ begunMs, settledMs: begunMs, validBeforeMs: begunMs, analysis: 'pulse', coin: 'BTC' },
    ...{ network: base.network, asset: base.asset, payer: PAYER, nonce: pad(toHex(block)) },
    ...{ amount: 1n, finality: 'confirmed', state: 'settled', transaction: transactionIn(block) },
    ...{ fee: null, answerUntilMs: null, isDelivered: false },
  }
}

function refusal(request: Request, message: string): RpcRequestError {
  return new RpcRequestError({
    body: request,
    error: { code: -32_005, message },
    url: 'http://node',
  })
}

const blocks = Array.from({ length: 300 }, (_, index) => 2_000 + index * 120)

describe('the transfers to a payee on an EVM chain', () => {
  test.each([10_000, 500, 10])(
    'are all read from a node that allows %i blocks a request',
    async (allowed) => {
      const limit = (request: Request) => {
        if (request.method !== 'eth_getLogs') return
        const [{ fromBlock, toBlock }] = request.params as [{ fromBlock: Hex; toBlock: Hex }]
        if (Number(toBlock) - Number(fromBlock) >= allowed)
          throw refusal(request, `query exceeds max block range ${allowed}`)
      }
      const { chain, asked } = chainWith(blocks, limit)
      const found = await compareWithChain(blocks.map(paymentIn), chain, PERIOD)
      expect(found).toMatchObject({ equal: 300, differences: [], firstBlock: 0, lastBlock: BLOCKS })
      const logs = asked.filter(({ method }) => method === 'eth_getLogs')
      expect(logs.length).toBeLessThan((BLOCKS / allowed) * 3 + 30)
    },
  )

  test('are neither those of nothing nor those of the payee to itself', async () => {
    const { chain } = chainWith(blocks, () => undefined, [
      { ...logOf(2_001), data: pad('0x0') },
      { ...logOf(2_002), topics: [TRANSFER, pad(PAYEE), pad(PAYEE)] },
    ])
    const found = await compareWithChain(blocks.map(paymentIn), chain, PERIOD)
    expect(found).toMatchObject({ equal: 300, differences: [] })
  })

  test('of a node that stops answering are not compared', async () => {
    let answers = 0
    const { chain } = chainWith(blocks, (request) => {
      if (request.method !== 'eth_getLogs') return
      answers += 1
      if (answers > 2) throw refusal(request, 'overloaded')
    })
    await expect(compareWithChain(blocks.map(paymentIn), chain, PERIOD)).rejects.toMatchObject({
      code: 'node_unavailable',
      message: expect.stringMatching(/^the node does not answer \(blocks 20000 to .*overloaded$/),
    })
  })

  test('of a node that leaves out a log are not compared', async () => {
    const { chain } = chainWith(blocks.slice(1))
    await expect(compareWithChain(blocks.map(paymentIn), chain, PERIOD)).rejects.toMatchObject({
      code: 'node_unavailable',
      message: expect.stringContaining('left it out of the logs'),
    })
  })

  test('of a payment at the edge of a period are found in the margin', async () => {
    const [block] = blocks
    const edge = START_MS + (block ?? 0) * 2_000
    const { chain } = chainWith(blocks)
    const before = { sinceMs: edge - 3_600_000, untilMs: edge - 1 }
    const late = { ...paymentIn(block ?? 0), begunMs: edge - 2_000 }
    expect(await compareWithChain([late], chain, before)).toMatchObject({
      equal: 1,
      differences: [],
    })
  })
})
