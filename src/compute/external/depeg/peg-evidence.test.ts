import { describe, expect, test } from 'vitest'
import { naiveInstants } from '../../../../test/golden/naive-depeg.ts'
import type { ExternalEvent, SourceId } from '../../../domain/external.ts'
import { ExternalState } from '../../market/external-state.ts'
import {
  exchangeQuote,
  oraclePrice,
  pegSourceIds,
  pegTape,
  usdcPool,
} from '../../testing/peg-tape.ts'
import type { LastMessageAt } from './peg-evidence.ts'
import { pegEvidenceOf } from './peg-evidence.ts'
import { chainParities } from './peg-markets.ts'
import { pegPriceOf } from './peg-price.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

const silent: LastMessageAt = () => Number.NaN

function stateOf(events: readonly ExternalEvent[]): ExternalState {
  const external = new ExternalState()
  for (const event of events) external.apply(event)
  return external
}

function evidenceOf(
  events: readonly ExternalEvent[],
  heardAt: LastMessageAt = silent,
  nowMs = NOW_MS,
) {
  return pegEvidenceOf(stateOf(events), heardAt, nowMs)
}

function faultOf(id: string, events: readonly ExternalEvent[], heardAt: LastMessageAt = silent) {
  const source = evidenceOf(events, heardAt).sources.find((one) => one.id === id)
  return source === undefined ? 'not there' : source.fault
}

function pegOf(events: readonly ExternalEvent[]) {
  return pegPriceOf(evidenceOf(events).classes)
}

/** A book of USDC for USD on Kraken of that age. */
function told(secondsAgo: number) {
  return [exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS - secondsAgo * SECOND_MS)]
}

describe('sources of the peg', () => {
  test('are three classes, and one vote for each network, exchange and chain', () => {
    const { sources, classes } = evidenceOf(pegTape(NOW_MS))
    expect(classes.map((one) => one.class)).toEqual(['oracle', 'exchange', 'cross'])
    const weightOf = (start: string) =>
      sources.filter(({ id }) => id.startsWith(start)).reduce((sum, { weight }) => sum + weight, 0)
    for (const voter of ['pyth', 'chainlink', 'redstone', 'kraken', 'binance', 'base:'])
      expect(weightOf(voter), voter).toBeCloseTo(1, 12)
  })

  test('are, of one network, those with the smallest expected error, the finer of two equal ones', () => {
    const tape = pegTape(NOW_MS)
    expect(faultOf('pyth-hermes', tape)).toBeNull()
    expect(faultOf('pyth-evm:monad', tape)).toBe('finer_feed_used')
    const keyless = pegTape(NOW_MS, () => 1, new Set<SourceId>(['pyth-hermes']))
    expect(faultOf('pyth-evm:monad', keyless)).toBeNull()
    expect(faultOf('pyth-solana', keyless)).toBe('finer_feed_used')
    const aged = keyless.map((event) =>
      event.kind === 'oracle-price' && event.network === 'pyth-evm'
        ? { ...event, timeExchangeMs: NOW_MS - HOUR_MS }
        : event,
    )
    expect(faultOf('pyth-solana', aged), 'a minute is nearer than an hour within 20 bps').toBeNull()
    expect(faultOf('pyth-evm:monad', aged)).toBe('finer_feed_used')
  })

  test.each([
    { what: 'a stream for two minutes', heartbeatMs: 5 * SECOND_MS, limitMs: 120 * SECOND_MS },
    { what: 'a feed for twice its heartbeat', heartbeatMs: HOUR_MS, limitMs: 2 * HOUR_MS },
  ])('count $what', ({ heartbeatMs, limitMs }) => {
    const at = (ageMs: number) => [oraclePrice({ heartbeatMs }, NOW_MS - ageMs)]
    expect(faultOf('pyth-hermes', at(limitMs))).toBeNull()
    expect(faultOf('pyth-hermes', at(limitMs + 1))).toBe('too_old')
  })

  test('count a round of Chainlink for its heartbeat and two hours', () => {
    const feed = { network: 'chainlink', place: 'base', heartbeatMs: 24 * HOUR_MS } as const
    expect(faultOf('chainlink:base', [oraclePrice(feed, NOW_MS - 26 * HOUR_MS)])).toBeNull()
    expect(faultOf('chainlink:base', [oraclePrice(feed, NOW_MS - 26 * HOUR_MS - 1)])).toBe(
      'too_old',
    )
  })

  test('count a book for five seconds, or a minute while its exchange sends messages', () => {
    const id = 'kraken:USDC/USD'
    expect(faultOf(id, told(5))).toBeNull()
    expect(faultOf(id, told(6))).toBe('too_old')
    const heard: LastMessageAt = () => NOW_MS - 4 * SECOND_MS
    expect(faultOf(id, told(60), heard)).toBeNull()
    expect(faultOf(id, told(61), heard)).toBe('too_old')
    expect(faultOf(id, told(60), () => NOW_MS - 6 * SECOND_MS)).toBe('too_old')
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 11])('refuse a price of %f', (usd) => {
    const tape = [
      oraclePrice({ priceUsd: usd }, NOW_MS),
      { ...exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS), bid: usd, ask: usd },
      usdcPool('base', usd, NOW_MS),
      exchangeQuote('coinbase', 'USDT', 'USD', 1, NOW_MS),
    ]
    const { sources, classes } = evidenceOf(tape)
    expect(new Set(sources.map(({ fault }) => fault))).toEqual(new Set(['implausible_price']))
    expect(classes).toEqual([])
  })

  test('refuse books that are crossed or wide, and pools that are thin', () => {
    const book = exchangeQuote('kraken', 'USDC', 'USD', 1, NOW_MS)
    expect(faultOf('kraken:USDC/USD', [{ ...book, bid: 1.001, ask: 0.999 }])).toBe('crossed_book')
    expect(faultOf('kraken:USDC/USD', [{ ...book, bid: 0.98, ask: 1.01 }])).toBe('wide_spread')
    const usdt = exchangeQuote('kraken', 'USDT', 'USD', 1, NOW_MS)
    const thin = usdcPool('base', 1, NOW_MS, { balanceQuote: 249_999 })
    expect(faultOf('base:uniswap-v3', [usdt, thin])).toBe('thin_pool')
    const idle = usdcPool('base', 1, NOW_MS, { reserveQuote: 249_999 })
    expect(faultOf('base:uniswap-v3', [usdt, idle]), 'its balance is elsewhere').toBe('thin_pool')
    const old = usdcPool('base', 1, NOW_MS - 61 * SECOND_MS)
    expect(faultOf('base:uniswap-v3', [usdt, old])).toBe('too_old')
  })

  test('read a pool from either side', () => {
    const turned = usdcPool('base', 1.25, NOW_MS, { asset: 'USDT', quote: 'USDC' })
    const usdt = exchangeQuote('coinbase', 'USDT', 'USD', 1, NOW_MS)
    expect(pegOf([usdt, turned])?.priceUsd).toBeCloseTo(0.8, 12)
    expect(chainParities(stateOf([turned]), NOW_MS)).toEqual([
      { chain: 'base', usdcUsdtBps: -2_000 },
    ])
  })

  test('take the parity of a chain from its deepest pool', () => {
    const deep = usdcPool('base', 1.001, NOW_MS)
    const shallow = usdcPool('base', 0.9, NOW_MS, { pool: 'other', balanceQuote: 1e6 })
    expect(chainParities(stateOf([shallow, deep]), NOW_MS)).toEqual([
      { chain: 'base', usdcUsdtBps: 10 },
    ])
  })
})

describe('the cross by way of USDT', () => {
  const binance = exchangeQuote('binance', 'USDC', 'USDT', 1.02, NOW_MS)

  test('is USDC in USDT times USDT in USD', () => {
    const usdt = exchangeQuote('kraken', 'USDT', 'USD', 0.99, NOW_MS)
    expect(pegOf([binance, usdt])?.priceUsd).toBeCloseTo(1.02 * 0.99, 12)
  })

  test('does not exist without a price of USDT that is not by way of USDC', () => {
    const byUsdc = exchangeQuote('okx', 'USDT', 'USDC', 1, NOW_MS)
    expect(faultOf('binance:USDC/USDT', [binance, byUsdc])).toBe('no_usdt_rate')
    expect(pegOf([binance, byUsdc])).toBeNull()
  })

  test('leans on the only class that knows USDT, on none where two do', () => {
    const traded = exchangeQuote('kraken', 'USDT', 'USD', 1, NOW_MS)
    const fed = oraclePrice({ asset: 'USDT' }, NOW_MS)
    const leansOn = (events: readonly ExternalEvent[]) => evidenceOf(events).classes[0]?.leansOn
    expect(leansOn([binance, traded])).toBe('exchange')
    expect(leansOn([binance, fed])).toBe('oracle')
    expect(leansOn([binance, traded, fed])).toBeNull()
  })

  test('does not exist while two classes contradict each other about USDT', () => {
    const traded = exchangeQuote('kraken', 'USDT', 'USD', 0.99, NOW_MS)
    const fed = oraclePrice({ asset: 'USDT' }, NOW_MS)
    expect(faultOf('binance:USDC/USDT', [binance, traded, fed])).toBe('no_usdt_rate')
  })

  test('a USDT that is off alone is no deviation of USDC', () => {
    const tape = pegTape(NOW_MS, (_, asset) => (asset === 'USDT' ? 0.97 : 1))
    expect(pegOf(tape)?.deviationBps).toBeCloseTo(0, 6)
    expect(pegOf(tape)?.dispersionBps).toBeLessThan(1e-5)
  })

  test.each([-10, -22, -44, -60, -500, 500])(
    'a class that is %i bps wrong about both stablecoins raises no level above 1',
    (lieBps) => {
      const oracles = new Set<SourceId>(['pyth-hermes', 'pyth-solana', 'pyth-evm', 'redstone'])
      for (const liars of [oracles, new Set<SourceId>(['kraken', 'coinbase'])]) {
        // Without Chainlink, whose chains have pools too, the other networks are the whole class.
        const tape = pegTape(NOW_MS, (source) => (liars.has(source) ? 1 + lieBps / 1e4 : 1))
        const heard = tape.filter(
          (event) => !(event.kind === 'oracle-price' && event.network === 'chainlink'),
        )
        expect(pegOf(heard)?.calledLevel, [...liars].join()).toBeLessThanOrEqual(1)
      }
    },
  )
})

describe('when sources are gone', () => {
  const quoted = (source: SourceId) => 0.995 + 0.0001 * (pegSourceIds.indexOf(source) % 5)
  const pairs = pegSourceIds.flatMap((one, at) =>
    pegSourceIds.slice(at).map((other) => [one, other]),
  )

  test.each(pairs)('%s and %s: the price is that of the naive rule without them', (one, other) => {
    const dead = new Set<SourceId>([one as SourceId, other as SourceId])
    const tape = pegTape(NOW_MS, quoted, dead)
    const peg = pegOf(tape)
    const [naive] = naiveInstants(tape, [NOW_MS])
    expect(peg?.priceUsd).toBeCloseTo(naive?.priceUsd ?? Number.NaN, 12)
    expect(peg?.confidenceBps).toBeCloseTo(naive?.confidenceBps ?? Number.NaN, 9)
    expect(peg?.adjustedBps).toBeCloseTo(naive?.adjustedBps ?? Number.NaN, 6)
    expect(peg?.calledLevel).toBe(naive?.called)
    // No two sources make up a class, but Kraken alone knows USDC in USD.
    expect(peg?.classes.length).toBe(dead.has('kraken') ? 2 : 3)
    // Then only oracles price USDT, so the cross is no independent witness.
    expect(peg?.isConfirmed).toBe(!(dead.has('kraken') && dead.has('coinbase')))
    expect(peg?.calledLevel).toBe(peg?.isConfirmed ? 2 : 1)
  })

  test('one class alone still has a price, and none has none', () => {
    const only = pegTape(NOW_MS).filter(({ kind }) => kind === 'oracle-price')
    const peg = pegOf(only.filter((event) => 'asset' in event && event.asset === 'USDC'))
    expect(peg?.classes.map((one) => one.class)).toEqual(['oracle'])
    expect(peg?.isConfirmed).toBe(false)
    expect(pegOf([])).toBeNull()
    expect(pegOf(pegTape(NOW_MS, () => 1, new Set(pegSourceIds)))).toBeNull()
  })
})
