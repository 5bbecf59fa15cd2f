import { describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../domain/event.ts'
import type { OracleNetwork, OraclePriceEvent } from '../../domain/external.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import type { MarketState } from '../market/market-state.ts'
import { oraclePrice } from '../testing/external-events.ts'
import { newMarket } from '../testing/new-market.ts'
import { context, universe } from '../testing/tape.ts'
import { chooseOracle } from './oracle-choice.ts'
import type { OracleDemotion, OracleEvidence } from './oracle-faults.ts'
import { PROBATION_MS } from './oracle-faults.ts'
import { oracleTrust } from './oracle-trust.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const push = { resolutionBps: 50, heartbeatMs: 60_000 }
/** Read again at this instant, unchanged. */
const read = { timeReceivedMs: NOW_MS }
const chainlink = {
  resolutionBps: 50,
  heartbeatMs: 3_600_000,
  confidenceUsd: null,
  ema: null,
}

describe('the oracle network to believe', () => {
  test('is the first in order of equal expected errors, and the others are listed', () => {
    const choice = choose([
      word('chainlink', 100, chainlink),
      word('redstone', 100),
      word('pyth-solana', 100, push),
      word('pyth-hermes', 100),
    ])
    expect(choice.best?.network).toBe('pyth-hermes')
    expect(choice.demoted).toEqual(
      ['pyth-solana', 'redstone', 'chainlink'].map((network) => ({
        network,
        reason: 'larger_error',
      })),
    )
    expect(choice.readings.map(({ network }) => network)).toEqual([
      'pyth-hermes',
      'pyth-solana',
      'redstone',
      'chainlink',
    ])
  })

  test('is none without a price', () => {
    expect(choose([])).toMatchObject({ best: null, demoted: [], readings: [] })
  })

  test.each<{ reason: OracleDemotion; first: OraclePriceEvent; others?: OraclePriceEvent[] }>([
    { reason: 'late', first: word('pyth-hermes', 100, {}, 10_001) },
    { reason: 'too_old', first: word('pyth-hermes', 100, {}, 120_001) },
    { reason: 'late', first: word('pyth-hermes', 100, { heartbeatMs: 40_000 }, 80_001) },
    { reason: 'wide_confidence', first: word('pyth-hermes', 100, { confidenceUsd: 1.01 }) },
    { reason: 'wide_confidence', first: word('pyth-hermes', 100, { confidenceUsd: 0.21 }) },
    { reason: 'wrong_scale', first: word('pyth-hermes', 100_000) },
    { reason: 'wrong_scale', first: word('pyth-hermes', Number.NaN) },
    {
      reason: 'outvoted',
      first: word('pyth-hermes', 101),
      others: [word('chainlink', 100, chainlink)],
    },
  ])('not one that is $reason', ({ reason, first, others = [] }) => {
    const choice = choose([first, word('redstone', 100), ...others])
    expect(choice.best?.network).toBe('redstone')
    expect(choice.demoted[0]).toEqual({ network: 'pyth-hermes', reason })
    expect(choice.weakness).toBeNull()
  })

  test.each([
    { network: 'pyth-solana', heartbeatMs: 60_000, ageMsMax: 120_000 },
    { network: 'pyth-evm', heartbeatMs: 3_600_000, ageMsMax: 7_200_000 },
    { network: 'chainlink', heartbeatMs: 3_600_000, ageMsMax: 10_800_000 },
    { network: 'pyth-hermes', heartbeatMs: 1_000, ageMsMax: 120_000 },
  ] as const)('$network is believed for $ageMsMax ms', ({ network, heartbeatMs, ageMsMax }) => {
    const at = (ageMs: number) => choose([word(network, 100, { ...push, heartbeatMs }, ageMs)])
    expect(at(ageMsMax).best?.ageMsMax).toBe(ageMsMax)
    expect(at(ageMsMax + 1).best).toBeNull()
  })

  test.each([
    { weakness: 'late', only: word('pyth-hermes', 100, {}, 100_000) },
    { weakness: 'wide_confidence', only: word('pyth-hermes', 100, { confidenceUsd: 3 }) },
  ])('one that is $weakness is used without another, with its weakness', ({ weakness, only }) => {
    expect(choose([only])).toMatchObject({ best: { network: 'pyth-hermes' }, weakness })
  })

  test('the exchanges have a vote', () => {
    const words = [word('pyth-hermes', 101), word('redstone', 100)]
    expect(choose(words, { exchangeMidsUsd: [100, 100] }).best?.network).toBe('redstone')
    expect(choose(words, { exchangeMidsUsd: [101, 101] }).best?.network).toBe('pyth-hermes')
    expect(choose(words).best?.network).toBe('pyth-hermes')
  })

  test.each([
    { apartBps: 30.9, believed: 'pyth-hermes' },
    { apartBps: 31.1, believed: 'redstone' },
  ])('networks of 3 bps each may be 31 bps apart: $apartBps', ({ apartBps, believed }) => {
    const words = [word('pyth-hermes', 100 * Math.exp(apartBps / 10_000)), word('redstone', 100)]
    const sure = words.map((one) => ({ ...one, confidenceUsd: one.priceUsd * 3e-4 }))
    expect(choose(sure, { exchangeMidsUsd: [100, 100] }).best?.network).toBe(believed)
  })

  test('the price of RedStone may drift since its publication, whatever its resolution', () => {
    const apart = 100 * Math.exp(45 / 10_000)
    const timed = { resolutionBps: 5, heartbeatMs: 30_000 }
    const words = [word('pyth-hermes', 100), word('redstone', apart, timed, 40_000)]
    const { demoted } = choose(words, { exchangeMidsUsd: [100, 100], driftBps: 5 })
    expect(demoted).toEqual([{ network: 'redstone', reason: 'larger_error' }])
  })

  test('two that contradict each other outvote no network', () => {
    const words = [
      word('pyth-hermes', 101),
      word('redstone', 100),
      word('chainlink', 110, chainlink),
    ]
    expect(choose(words).best?.network).toBe('pyth-hermes')
  })

  test('three exchanges that agree with each other outvote one network', () => {
    const lie = [word('redstone', 105)]
    expect(choose(lie, { exchangeMidsUsd: [100, 100.1, 99.9] }).best).toBeNull()
    expect(choose(lie, { exchangeMidsUsd: [100, 100.1, 99.9, 104, 96] }).best).toBeNull()
    expect(choose(lie, { exchangeMidsUsd: [105, 105.1, 104.9] }).best?.network).toBe('redstone')
  })

  test('each of two networks that stand alone', () => {
    const lies = [word('redstone', 105), word('pyth-hermes', 110)]
    expect(choose(lies, { exchangeMidsUsd: [100, 100, 100] }).best).toBeNull()
  })

  test.each([
    { what: 'two exchanges', exchangeMidsUsd: [100, 100.1] },
    { what: 'three that differ', exchangeMidsUsd: [100, 100.3, 99.7] },
  ])('$what do not', ({ exchangeMidsUsd }) => {
    const choice = choose([word('redstone', 105)], { exchangeMidsUsd })
    expect(choice.best?.network).toBe('redstone')
  })

  test('they have to be more than the networks that stand by it', () => {
    const words = [word('pyth-hermes', 105), word('redstone', 105)]
    expect(choose(words, { exchangeMidsUsd: [100, 100, 100] }).best).toBeNull()
    const three = [...words, word('pyth-evm', 105)]
    expect(choose(three, { exchangeMidsUsd: [100, 100, 100] }).best?.network).toBe('pyth-hermes')
    expect(choose(three, { exchangeMidsUsd: [100, 100, 100, 100] }).best).toBeNull()
  })

  test.each([
    { ageMs: 117_000, believed: 'pyth-solana' },
    { ageMs: 117_001, believed: 'pyth-evm' },
  ] as const)('hands over before it is too old: $ageMs ms', ({ ageMs, believed }) => {
    const words = [
      word('pyth-solana', 100, push, ageMs),
      word('pyth-evm', 100, { ...push, heartbeatMs: 3_600_000 }, 1_000_000),
    ]
    expect(choose(words).best?.network).toBe(believed)
  })

  test('a late one hands over to one that is late for less, as long as there is one', () => {
    const late = (hermesMs: number, redstoneMs: number) =>
      choose([word('pyth-hermes', 100, {}, hermesMs), word('redstone', 100, {}, redstoneMs)])
    expect(late(60_000, 117_000).best?.network).toBe('pyth-hermes')
    expect(late(117_000, 60_000)).toMatchObject({
      best: { network: 'redstone' },
      weakness: 'late',
      demoted: [{ network: 'pyth-hermes', reason: 'late' }],
    })
    expect(late(118_000, 119_000).best?.network).toBe('pyth-hermes')
    expect(late(117_001, 60_000).best?.network).toBe('redstone')
  })

  test('what a feed cannot see is not held against it', () => {
    const words = [
      word('pyth-solana', 100.45, push),
      word('redstone', 100),
      word('chainlink', 100, chainlink),
    ]
    expect(choose(words).fit.map(({ network }) => network)).toContain('pyth-solana')
  })

  test('of several feeds of a network the one with the smallest error that is alive speaks', () => {
    const old = 1_000_000
    const places = [
      word('chainlink', 101, { ...chainlink, place: 'base', resolutionBps: 5 }, 20_000_000),
      word('chainlink', 100, { ...chainlink, place: 'arbitrum', resolutionBps: 10, ...read }, old),
      word('chainlink', 100, { ...chainlink, place: 'ethereum', ...read }, old),
    ]
    expect(choose(places).best?.place).toBe('arbitrum')
    const young = word('chainlink', 100, { ...chainlink, place: 'optimism' }, 1_000)
    expect(choose([...places, young]).best?.place).toBe('optimism')
  })

  describe('by what each can know now', () => {
    /** One deviation of a second; a minute moves the price by 12 bps. */
    const error = (feed: OraclePriceEvent) =>
      choose([feed]).readings[0]?.expectedErrorBps ?? Number.NaN
    const sure = { confidenceUsd: 0 }

    test('a stream is off by what the price moved since', () => {
      expect(error(word('pyth-hermes', 100, sure, 4_000))).toBeCloseTo(1.5 * 2, 9)
    })

    test('a confidence adds as an independent error', () => {
      const feed = word('pyth-hermes', 100, { confidenceUsd: 0.04 }, 4_000)
      expect(error(feed)).toBeCloseTo(Math.hypot(4, 3), 9)
    })

    test('a feed that publishes on moves is off by no more than a walk that stayed within them', () => {
      const feed = word(
        'pyth-evm',
        100,
        { ...push, ...sure, resolutionBps: 20, ...read },
        3_600_000,
      )
      const late = 1.5 * Math.sqrt(5)
      // A walk that stayed within 1 for long: the root of 1 - 8 / pi^2.
      expect(error({ ...feed, heartbeatMs: 3_600_000 })).toBeCloseTo(Math.hypot(8.7047, late), 3)
    })

    test('a young feed with a coarse trigger is as good as a stream of its age', () => {
      expect(error(word('pyth-solana', 100, { ...push, ...sure }, 9_000))).toBeCloseTo(4.5, 9)
    })

    test('what a feed withheld since it was read last is unknown', () => {
      const feed = word('pyth-evm', 100, { ...push, ...sure, ...read }, 3_600_000)
      const unread = { ...feed, heartbeatMs: 3_600_000, timeReceivedMs: NOW_MS - 95_000 }
      expect(error(unread)).toBeCloseTo(Math.hypot(0.435236 * 50, 15), 3)
    })

    test('RedStone publishes by time: its resolution holds nothing back', () => {
      const feed = word('redstone', 100, { ...sure, resolutionBps: 5, heartbeatMs: 30_000 }, 16_000)
      expect(error(feed)).toBeCloseTo(6, 9)
    })

    test('no network is surer than markets are apart', () => {
      const choice = choose([
        word('redstone', 100, { confidenceUsd: 0.01 }, 9_000),
        word('pyth-hermes', 100, { confidenceUsd: 0.05 }, 1_000),
      ])
      expect(choice.best?.network).toBe('pyth-hermes')
      expect(choice.readings[1]?.expectedErrorBps).toBeCloseTo(Math.hypot(5, 4.5), 9)
    })

    test('the finer and older one comes before the coarser one, and the other way round', () => {
      const coarse = (ageMs: number) => word('pyth-solana', 100, push, ageMs)
      const fine = (ageMs: number) =>
        word('redstone', 100, { resolutionBps: 5, heartbeatMs: 30_000 }, ageMs)
      expect(choose([coarse(55_000), fine(12_000)]).best?.network).toBe('redstone')
      expect(choose([coarse(2_000), fine(12_000)]).best?.network).toBe('pyth-solana')
    })
  })

  test('what is stamped in the future is as old as when it came', () => {
    const early = { timeExchangeMs: NOW_MS + 5_000, timeReceivedMs: NOW_MS - 2_000 }
    const [only] = choose([oraclePrice('redstone', 'BTC', 100, NOW_MS, early)]).readings
    expect(only?.ageMs).toBe(2_000)
  })

  test('one with a recent fault waits, unless no other is fit', () => {
    const words = [word('pyth-hermes', 100), word('redstone', 100)]
    const unfit = (agoMs: number) => ({
      unfitAtMs: (network: OracleNetwork) =>
        network === 'pyth-hermes' ? NOW_MS - agoMs : Number.NaN,
    })
    const waiting = choose(words, unfit(PROBATION_MS - 1))
    expect(waiting.best?.network).toBe('redstone')
    expect(waiting.demoted).toEqual([{ network: 'pyth-hermes', reason: 'probation' }])
    expect(choose(words, unfit(PROBATION_MS)).best?.network).toBe('pyth-hermes')
    expect(choose(words.slice(0, 1), unfit(1)).best?.network).toBe('pyth-hermes')
  })
})

describe('trust over time', () => {
  test('a network that comes and goes is not believed back and forth', () => {
    const market = newMarket(new PulsePool(3))
    for (const event of [universe(['BTC']), context('BTC', { oraclePrice: 100 })])
      market.apply(event)
    const believed = Array.from({ length: 120 }, (_, second) => {
      const nowMs = NOW_MS + second * 1_000
      // Unsure every other second, until it is sure again.
      const isUnsure = second < 60 && second % 2 === 1
      const confidenceUsd = isUnsure ? 3 : 0.03
      tell(market, oraclePrice('pyth-hermes', 'BTC', 100, nowMs, { confidenceUsd }))
      tell(market, oraclePrice('redstone', 'BTC', 100, nowMs))
      for (let tick = 0; tick < 20; tick += 1) market.advance(nowMs + 50 * tick)
      return market.of(oracleTrust).choose('BTC', market, nowMs + 999).best?.network
    })
    const switches = believed.filter((network, at) => at > 0 && network !== believed[at - 1])
    expect(switches).toEqual(['redstone', 'pyth-hermes'])
    expect(believed.lastIndexOf('redstone')).toBe(59 + PROBATION_MS / 1_000 - 1)
  })

  test('an old price of the venue excludes no network', () => {
    const bestAfter = (ageMs: number) => {
      const market = newMarket(new PulsePool(3))
      const stamp = { timeExchangeMs: NOW_MS - ageMs, timeReceivedMs: NOW_MS - ageMs }
      tell(market, universe(['BTC']))
      tell(market, context('BTC', { oraclePrice: 100, ...stamp }))
      for (const network of ['pyth-hermes', 'redstone'] as const)
        tell(market, oraclePrice(network, 'BTC', 75, NOW_MS))
      return market.of(oracleTrust).choose('BTC', market, NOW_MS).best?.priceUsd ?? null
    }
    expect(bestAfter(300_000)).toBeNull()
    expect(bestAfter(300_001)).toBe(75)
  })

  test('lists the coins that any network covers', () => {
    const market = newMarket(new PulsePool(9))
    market.apply(universe(['BTC', 'kPEPE', 'XYZ']))
    const known = () => market.of(oracleTrust).knownCoins(market)
    expect(known()).toEqual([])
    tell(market, oraclePrice('redstone', 'PEPE', 1, NOW_MS))
    expect(known()).toEqual(['kPEPE'])
    tell(market, oraclePrice('redstone', 'BTC', 1, NOW_MS))
    expect(known()).toEqual(['BTC', 'kPEPE'])
  })
})

function word(
  network: OracleNetwork,
  priceUsd: number,
  changes: Partial<OraclePriceEvent> = {},
  ageMs = 0,
): OraclePriceEvent {
  const timeMs = NOW_MS - ageMs
  return oraclePrice(network, 'BTC', priceUsd, timeMs, {
    confidenceUsd: 0.03,
    ema: { priceUsd: 100, confidenceUsd: 0.03 },
    ...changes,
  })
}

function choose(feeds: readonly OraclePriceEvent[], evidence: Partial<OracleEvidence> = {}) {
  return chooseOracle(feeds, {
    nowMs: NOW_MS,
    expectedUsd: 100,
    exchangeMidsUsd: [],
    driftBps: 1.5,
    unfitAtMs: () => Number.NaN,
    ...evidence,
  })
}

function tell(market: MarketState, event: MarketEvent): void {
  market.apply(event)
}
