import assert from 'node:assert/strict'
import { concatMap, EMPTY, map, of, throwError, timer } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { arbMeasure } from '../src/compute/external/arb/arb-measure.ts'
import type { ArbMeasurement } from '../src/compute/external/arb/arb-sample.ts'
import { PulsePool } from '../src/compute/indicators/pulse-series.ts'
import type { MarketState } from '../src/compute/market/market-state.ts'
import { exchangeQuote, oraclePrice } from '../src/compute/testing/chain-tape.ts'
import { newMarket } from '../src/compute/testing/new-market.ts'
import { OperatingError } from '../src/domain/errors.ts'
import { chains } from '../src/domain/external.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { upstreams } from '../src/simulator/external/simulated-sources.ts'
import { sources } from '../src/streams/external/external-feed.ts'
import type { ExternalRuntime, HttpReply } from '../src/streams/runtime.ts'
import { Chance } from './simulation/chance.ts'
import { Kernel } from './simulation/kernel.ts'
import { Machine } from './simulation/machine.ts'
import { rememberedMarket } from './support/remembered-market.ts'

/** The `/arb` measure on events of our adapters at the simulated chains, in virtual time. */

const START_MS = Date.UTC(2026, 9, 7, 15, 0)
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const LATENCY_MS = 40
/** Time until the pools of every chain are discovered and read. */
const SETTLED_MS = 3 * MINUTE_MS
const SEED = 5
const venue = rememberedMarket({ seed: SEED, startMs: START_MS })

describe('on the simulated chains', () => {
  test('a quiet market is calm on all chains, without an opportunity', () => {
    const samples = run([], 8 * MINUTE_MS).filter(({ sampledAtMs }) => isSettled(sampledAtMs))
    expect(samples.length).toBeGreaterThan(20)
    for (const { chains: scanned, assets, stress, opportunities } of samples) {
      expect(scanned.filter(({ isFresh }) => !isFresh).map(({ chain }) => chain)).toEqual([])
      expect(assets.filter(({ referenceUsd }) => Number.isNaN(referenceUsd))).toEqual([])
      expect(stress?.ruledIndex).toBeLessThan(25)
      expect(opportunities).toEqual([])
    }
  })

  test('a gap of 80 bps is found on its chain while it lasts, and nowhere else', () => {
    const [fromMs, untilMs] = [4 * MINUTE_MS, 6 * MINUTE_MS]
    const gap: ScenarioEvent = {
      kind: 'gap',
      chain: 'base',
      asset: 'ETH',
      bps: 80,
      fromMs: START_MS + fromMs,
      untilMs: START_MS + untilMs,
    }
    const samples = run([gap], 8 * MINUTE_MS)
    const open = samples.filter(({ opportunities }) => opportunities.length > 0)
    // A block, its polling delay and two samples; the same until the gap is gone.
    expect((open[0]?.sampledAtMs ?? 0) - START_MS - fromMs).toBeLessThanOrEqual(40 * SECOND_MS)
    expect((open.at(-1)?.sampledAtMs ?? 0) - START_MS - untilMs).toBeLessThanOrEqual(20 * SECOND_MS)
    const found = open.flatMap(({ opportunities }) => opportunities)
    expect(new Set(found.map(({ asset, sellChain }) => `${asset} ${sellChain}`))).toEqual(
      new Set(['ETH base']),
    )
    expect(Math.max(...found.map(({ ageMs }) => ageMs))).toBeGreaterThanOrEqual(80 * SECOND_MS)
  })

  test('with four chains down there is no answer within a minute, and one after their recovery', () => {
    const [fromMs, untilMs] = [4 * MINUTE_MS, 6 * MINUTE_MS]
    const dead = (['base', 'bsc', 'solana', 'polygon'] as const).map(
      (source): ScenarioEvent => ({
        kind: 'dead',
        source,
        fromMs: START_MS + fromMs,
        untilMs: START_MS + untilMs,
      }),
    )
    const samples = run(dead, 9 * MINUTE_MS)
    const known = (afterMs: number) =>
      samples.find(({ sampledAtMs }) => sampledAtMs === START_MS + afterMs)?.stress != null
    expect([known(fromMs), known(fromMs + MINUTE_MS), known(9 * MINUTE_MS)]).toEqual([
      true,
      false,
      true,
    ])
  })
})

function isSettled(atMs: number): boolean {
  return atMs >= START_MS + SETTLED_MS
}

/** All samples. */
function run(scenario: readonly ScenarioEvent[], ms: number): readonly ArbMeasurement[] {
  const kernel = new Kernel(START_MS)
  const reference = new ReferencePrices({ market: venue, seed: SEED, scenario })
  const market = newMarket(new PulsePool(3))
  for (const chain of chains) listen(chain, reference, kernel, market)
  const samples: ArbMeasurement[] = []
  for (let afterMs = SECOND_MS; afterMs <= ms; afterMs += SECOND_MS) {
    kernel.runUntil(START_MS + afterMs)
    tellRates(reference, market, START_MS + afterMs)
    const before = market.of(arbMeasure).latest
    market.of(arbMeasure).advance(market, START_MS + afterMs)
    const { latest } = market.of(arbMeasure)
    if (latest !== null && latest !== before) samples.push(latest)
  }
  return samples
}

/** Events of oracle networks and exchanges, whose adapters are not under test here. */
function tellRates(reference: ReferencePrices, market: MarketState, nowMs: number): void {
  for (const asset of ['USDC', 'USDT', 'ETH', 'BTC', 'SOL', 'BNB', 'AVAX', 'POL']) {
    const usd = reference.seenUsd('pyth-hermes', asset, nowMs)
    if (usd !== undefined) market.apply(oraclePrice(asset, usd, nowMs))
  }
  for (const exchange of ['coinbase', 'kraken'] as const)
    for (const asset of ['ETH', 'BTC']) {
      const usd = reference.seenUsd(exchange, asset, nowMs)
      if (usd !== undefined) market.apply(exchangeQuote(exchange, asset, usd, nowMs))
    }
}

function listen(
  chain: (typeof chains)[number],
  reference: ReferencePrices,
  kernel: Kernel,
  market: MarketState,
): void {
  const source = sources[chain]
  const upstream = upstreams[chain]?.(reference, kernel.clock)
  assert(source !== undefined && upstream?.request !== undefined)
  const { request } = upstream
  const { scheduler } = new Machine(kernel, new Chance(1, chain)).process((cause) =>
    assert.fail(String(cause)),
  )
  const post: ExternalRuntime['post'] = (url, body) =>
    timer(LATENCY_MS, scheduler).pipe(
      map(() => {
        if (reference.isDead(chain, kernel.nowMs)) return null
        const text = JSON.stringify(body)
        const query = new URLSearchParams()
        const reply = request({ method: 'POST', path: '/', query, headers: {}, body: text })
        return reply !== null && 'body' in reply ? reply.body : null
      }),
      concatMap((reply) =>
        reply === null
          ? throwError(() => new OperatingError('refused', url))
          : of<HttpReply>({ status: 200, body: reply }),
      ),
    )
  const none = () => EMPTY
  const runtime = { scheduler, random: () => 0.5, connect: none, get: none, follow: none, post }
  source({ urls: ['node'] }, { assets: () => [], onNotice: () => {} }, runtime).subscribe(
    (batch) => {
      for (const event of batch) market.apply(event)
    },
  )
}
