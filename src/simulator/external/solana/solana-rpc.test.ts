import { test as property } from '@fast-check/vitest'
import { address, getProgramDerivedAddress } from '@solana/kit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededMarket } from '../../market/seeded-market.ts'
import { ReferencePrices } from '../reference-prices.ts'
import type { ScenarioEvent } from '../scenario.ts'
import { programAddress } from './program-address.ts'
import { PushFeedAccounts } from './push-feed-accounts.ts'
import { solanaNode } from './solana-node.ts'
import { slotAt, slotTimeMs } from './solana-rpc.ts'

const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const SOL_USDC = 'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE'
const PYTH_SOL = '7AviUf9nL62mcxNbQGKm4nKDQnPjswo6c5MX4D57HmyE'
const market = seededMarket({ seed: 4, startMs: START_MS })

type Reply = {
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

function nodeAt(atMs: number, scenario: readonly ScenarioEvent[] = []) {
  const reference = new ReferencePrices({ market, seed: 4, scenario })
  const clock = { nowMs: () => atMs, after: () => () => {}, every: () => () => {} }
  const { request } = solanaNode(reference, clock)
  const send = (body: string, method = 'POST') =>
    request?.({ method, path: '/', query: new URLSearchParams(), headers: {}, body })
  const ask = (method: string, params?: unknown): Reply => {
    const reply = send(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
    if (!reply || !('body' in reply)) throw new Error('no answer')
    return JSON.parse(reply.body) as Reply
  }
  return { send, ask, reference }
}

describe('a simulated node of Solana', () => {
  const { ask, send } = nodeAt(START_MS)
  const base64 = { encoding: 'base64' }

  test.each([
    ['a method that it does not know', 'sendTransaction', [], -32601],
    ['more keys than it answers', 'getMultipleAccounts', [Array(101).fill(CLOCK), base64], -32602],
    ['keys that are no list', 'getMultipleAccounts', [CLOCK], -32602],
    ['a key that is none', 'getMultipleAccounts', [['0OIl'], base64], -32602],
    ['one key that is none', 'getAccountInfo', ['nothing', base64], -32602],
    ['no key', 'getAccountInfo', [], -32602],
    ['an encoding that it does not speak', 'getAccountInfo', [CLOCK, { encoding: 'hex' }], -32602],
    ['much in base58', 'getAccountInfo', [SOL_USDC], -32600],
    ['a commitment that there is not', 'getSlot', [{ commitment: 'sure' }], -32602],
    ['a slot that has not come', 'getBlockTime', [1e9], -32004],
    ['a slot long ago', 'getBlockTime', [1], -32001],
    ['a slot that is none', 'getBlockTime', ['x'], -32602],
    ['more than it has reached', 'getSlot', [{ minContextSlot: 1e9 }], -32016],
  ])('refuses %s', (_what, method, params, code) => {
    expect(ask(method, params)).toMatchObject({ id: 7, error: { code } })
  })

  test.each([
    ['no JSON', '{', -32700],
    ['no method', '{"id":1}', -32600],
    ['an empty batch', '[]', -32600],
  ])('refuses a request with %s', (_what, body, code) => {
    const reply = send(body)
    expect(JSON.parse(reply && 'body' in reply ? reply.body : '')).toMatchObject({
      error: { code },
    })
  })

  test('answers a batch one by one, and no GET', () => {
    const one = { jsonrpc: '2.0', id: 1, method: 'getHealth' }
    const reply = send(JSON.stringify([one, { ...one, id: 2 }]))
    expect(JSON.parse(reply && 'body' in reply ? reply.body : '')).toMatchObject([
      { id: 1, result: 'ok' },
      { id: 2, result: 'ok' },
    ])
    expect(send('', 'GET')).toMatchObject({ status: 405 })
  })

  test('finalizes later than it confirms', () => {
    const confirmed = ask('getSlot', [{ commitment: 'confirmed' }]).result
    expect(confirmed).toBe(slotAt(START_MS))
    expect(ask('getSlot').result).toBe(slotAt(START_MS) - 32)
  })

  test('has one time in its clock, its blocks and its slots', () => {
    const { result } = ask('getAccountInfo', [CLOCK, { ...base64, commitment: 'confirmed' }])
    const { context, value } = result as { context: { slot: number }; value: { data: [string] } }
    const data = Buffer.from(value.data[0], 'base64')
    expect(Number(data.readBigUInt64LE(0))).toBe(context.slot)
    const seconds = Math.floor(slotTimeMs(context.slot) / SECOND_MS)
    expect(Number(data.readBigInt64LE(32))).toBe(seconds)
    expect(ask('getBlockTime', [context.slot]).result).toBe(seconds)
  })

  test('uses base58 by default, which is limited in length', () => {
    expect(ask('getAccountInfo', [CLOCK]).result).toMatchObject({
      value: { data: [expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]+$/), 'base58'], space: 40 },
    })
  })

  test('that is stalled keeps its last block, and says that it is not well', () => {
    const fromMs = START_MS - MINUTE_MS
    const stalled = { kind: 'stalled', source: 'solana', fromMs, untilMs: START_MS + 1 } as const
    const behind = nodeAt(START_MS, [stalled])
    expect(behind.ask('getSlot', [{ commitment: 'processed' }]).result).toBe(slotAt(fromMs))
    expect(behind.ask('getHealth').error).toEqual({
      code: -32005,
      message: 'Node is behind by 150 slots',
      data: { numSlotsBehind: 150 },
    })
  })
})

describe('what Pyth pushes', () => {
  const at = (pushes: PushFeedAccounts, atMs: number) => {
    const data = Buffer.from(pushes.at(PYTH_SOL, atMs)?.data ?? [])
    expect(data[40], 'verified by all').toBe(1)
    return {
      price: Number(data.readBigInt64LE(73)) / 1e8,
      publishedMs: Number(data.readBigInt64LE(93)) * 1_000,
    }
  }
  const pushesIn = (scenario: readonly ScenarioEvent[] = []) => {
    const reference = new ReferencePrices({ market, seed: 4, scenario })
    return { reference, pushes: new PushFeedAccounts(reference, slotAt) }
  }

  property.prop([fc.nat({ max: 3_600 })], { numRuns: 30 })(
    'is at most a minute old and depends on time only',
    (seconds) => {
      const atMs = START_MS + seconds * SECOND_MS
      const { pushes, reference } = pushesIn()
      const pushed = at(pushes, atMs)
      expect(atMs - pushed.publishedMs).toBeGreaterThanOrEqual(0)
      expect(atMs - pushed.publishedMs).toBeLessThan(MINUTE_MS)
      expect(pushed.price).toBeCloseTo(
        reference.seenUsd('pyth-solana', 'SOL', pushed.publishedMs) ?? 0,
        6,
      )
      const walked = pushesIn().pushes
      for (let before = 30; before > 0; before -= 10) walked.at(PYTH_SOL, atMs - before * SECOND_MS)
      expect(at(walked, atMs)).toEqual(pushed)
    },
  )

  test('is unchanged while the price is, and updated after a move of 0.5 %', () => {
    const jump = {
      kind: 'offset',
      source: 'pyth-solana',
      fromMs: START_MS + 20_000,
      untilMs: START_MS + MINUTE_MS,
    } as const
    const times = (bps: number) => {
      const { pushes } = pushesIn([{ ...jump, bps }])
      const seen = Array.from({ length: 40 }, (_, at) => at + 10).map(
        (s) => at(pushes, START_MS + s * SECOND_MS).publishedMs,
      )
      return new Set(seen).size
    }
    expect(times(30)).toBe(1)
    expect(times(80)).toBe(2)
  })

  test('stands under the old program as well, a day old and signed by some', () => {
    const { pushes } = pushesIn()
    const data = Buffer.from(
      pushes.at('7UVimffxr9ow1uXYxsr4LHAcV58mLzhmwaeKvJ1pjLiE', START_MS)?.data ?? [],
    )
    expect([...data.subarray(40, 42)]).toEqual([0, 5])
    const publishedMs = Number(data.readBigInt64LE(94)) * SECOND_MS
    expect(START_MS - publishedMs).toBeLessThan(24 * 60 * MINUTE_MS)
    expect(START_MS - publishedMs).toBeGreaterThan(MINUTE_MS)
  })
})

property.prop([fc.array(fc.uint8Array({ maxLength: 32 }), { maxLength: 5 })], { numRuns: 40 })(
  'an address of a program is the one that a client library derives',
  async (seeds) => {
    const program = address('whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc')
    const [expected, bump] = await getProgramDerivedAddress({ programAddress: program, seeds })
    expect(programAddress(program, seeds)).toEqual({ address: expected, bump })
  },
)
