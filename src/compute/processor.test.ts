import { describe, expect, test } from 'vitest'
import { pulse } from './analyses/pulse/pulse.ts'
import type { CoinAnalysis, MarketAnalysis, Rendering } from './analysis.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from './processor.ts'
import { BOUNDARY_MS, context, history, NOW_MS, universe, warmTape } from './testing/tape.ts'

const MINUTE_MS = 60_000

describe('processor', () => {
  test('returns closed bars and minute samples as history once', () => {
    const processor = new Processor({ coin: [], market: [] }, '0.0.0')
    for (const batch of warmTape('BTC')) processor.process(batch)
    const minuteMs = BOUNDARY_MS + MINUTE_MS
    processor.process([confirmed(minuteMs - 2_000)])
    processor.process([confirmed(minuteMs + 1_000)])
    const { bars, samples, fundings, droppedRows } = processor.records.takeHistory()
    const countOf = (of: string) => bars.filter(({ timeframe }) => timeframe === of).length
    expect([countOf('15m'), countOf('1h'), countOf('4h')]).toEqual([1_344, 336, 1_200])
    expect(new Set(bars.map(({ coin }) => coin))).toEqual(new Set(['BTC']))
    expect(samples.map(({ coin, timeMs }) => [coin, timeMs])).toEqual([['BTC', minuteMs]])
    expect(fundings).toEqual([])
    expect(droppedRows).toBe(0)
    expect(processor.records.takeHistory()).toEqual({
      bars: [],
      samples: [],
      fundings: [],
      measures: [],
      droppedRows: 0,
    })
  })

  test('takes samples of a minute before it applies later events', () => {
    const processor = new Processor({ coin: [], market: [] }, '0.0.0')
    for (const batch of warmTape('BTC')) processor.process(batch)
    const minuteMs = BOUNDARY_MS + MINUTE_MS
    processor.process([{ ...confirmed(minuteMs - 2_000), markPrice: 1 }])
    processor.process([{ ...confirmed(minuteMs), markPrice: 2 }])
    expect(processor.records.takeHistory().samples).toEqual([
      expect.objectContaining({ markPrice: 1 }),
    ])
  })

  test('returns completed minutes of measures once', () => {
    const measuring = {
      contract: { id: 'measuring' },
      gather: ({ log }, nowMs) => log.record('gap', nowMs, nowMs / MINUTE_MS),
    } as MarketAnalysis<unknown>
    const processor = new Processor({ coin: [], market: [measuring] }, '0.0.0')
    processor.gather('measuring', BOUNDARY_MS)
    expect(processor.records.takeHistory().measures, 'the minute is still open').toEqual([])
    processor.gather('measuring', BOUNDARY_MS + MINUTE_MS)
    expect(processor.records.takeHistory().measures).toEqual([
      { series: 'gap', timeMs: BOUNDARY_MS, value: BOUNDARY_MS / MINUTE_MS },
    ])
    expect(processor.records.takeHistory().measures).toEqual([])
  })

  test('returns no restored bar as history', () => {
    const before = new Processor({ coin: [], market: [] }, '0.0.0')
    for (const batch of warmTape('BTC')) before.process(batch)
    const after = new Processor({ coin: [], market: [] }, '0.0.0')
    after.restore(before.records.checkpoint(NOW_MS), NOW_MS)
    expect(after.records.takeHistory().bars).toEqual([])
  })

  test('renders all restored coins at once, and afterwards each in its phase', () => {
    const coins = ['BTC', 'ETH', 'SOL']
    const all = { coin: [pulse], market: [] }
    const before = new Processor(all, '0.0.0')
    before.process([universe(coins)])
    for (const coin of coins) for (const batch of warmTape(coin).slice(1)) before.process(batch)
    const after = new Processor(all, '0.0.0')
    after.restore(before.records.checkpoint(NOW_MS), NOW_MS)
    const published = () => Array.from(after.publish(NOW_MS), ({ key }) => key)
    expect(published().toSorted()).toEqual(['pulse/BTC', 'pulse/ETH', 'pulse/SOL'])
    for (const coin of coins) after.process([confirmed(NOW_MS, coin)])
    const turns = Array.from({ length: 2 * PUBLISH_PHASES }, published).filter(
      (keys) => keys.length > 0,
    )
    expect(turns.flat().toSorted(), 'each once').toEqual(['pulse/BTC', 'pulse/ETH', 'pulse/SOL'])
    expect(turns, 'in different phases').toHaveLength(coins.length)
  })

  test('spreads the coins of an analysis with a longer period over the rounds', () => {
    const coins = Array.from({ length: 5 * PUBLISH_PHASES }, (_, index) => `C${index}`)
    const slow = { ...bare('slow', () => true), periodMs: 5 * PUBLISH_PERIOD_MS }
    const processor = new Processor({ coin: [slow], market: [] }, '0.0.0')
    processor.process([universe(coins)])
    const perRound = Array.from({ length: 15 }, () => {
      processor.process(coins.map((coin) => confirmed(NOW_MS, coin)))
      return Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(NOW_MS)])
    })
    const settled = perRound.slice(5).flat()
    expect(Math.max(...settled.map(({ length }) => length)), 'never two in one phase').toBe(1)
    expect(settled.flat(), 'each twice in ten rounds').toHaveLength(2 * coins.length)
  })

  test('renders a document with a long period once a period, and when a bar closes', () => {
    const hourly = { ...bare('hourly', () => true), periodMs: 60_000, atCloseOf: '1h' } as const
    const processor = new Processor({ coin: [hourly], market: [] }, '0.0.0')
    for (const batch of warmTape('BTC')) processor.process(batch)
    const roundAt = (nowMs: number) => {
      processor.process([confirmed(nowMs)])
      return Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(nowMs)]).flat()
    }
    const renderedBetween = (fromMs: number, toMs: number) => {
      let rendered = 0
      for (let nowMs = fromMs; nowMs < toMs; nowMs += PUBLISH_PERIOD_MS)
        rendered += roundAt(nowMs).length
      return rendered
    }
    const closingMs = BOUNDARY_MS + 60 * MINUTE_MS
    expect(roundAt(NOW_MS)).toHaveLength(1)
    // Candles are confirmed up to then.
    const stamp = {
      timeExchangeMs: closingMs - 5 * MINUTE_MS,
      timeReceivedMs: closingMs - 5 * MINUTE_MS,
    }
    processor.process([{ ...history('BTC', '15m', []), ...stamp }])
    renderedBetween(closingMs - 6 * MINUTE_MS, closingMs - 5 * MINUTE_MS)
    expect(renderedBetween(closingMs - 5 * MINUTE_MS, closingMs), 'once a minute').toBe(5)
    expect(renderedBetween(closingMs, closingMs + 3 * MINUTE_MS), 'and at the close').toBe(4)
  })

  test('renders every document once a minute without an event, a 60th of the coins in each round', () => {
    const coins = Array.from({ length: 120 }, (_, index) => `C${index}`)
    const processor = new Processor({ coin: [bare('calm', () => true)], market: [] }, '0.0.0')
    processor.process([universe(coins)])
    const published = (phases: number) =>
      Array.from({ length: phases }, () => [...processor.publish(NOW_MS)]).flat()
    // Until the last phase of the second round.
    published(2 * PUBLISH_PHASES - 1)
    const rounds = Array.from({ length: 60 }, () => published(PUBLISH_PHASES))
    expect(new Set(rounds.map(({ length }) => length))).toEqual(new Set([2]))
    expect(new Set(rounds.flat().map(({ key }) => key)).size).toBe(120)
  })

  test('renders a restored document with a long period in its phase only', () => {
    const all = { coin: [{ ...bare('slow', () => true), periodMs: MINUTE_MS }], market: [] }
    const before = new Processor(all, '0.0.0')
    before.process([universe(['BTC', 'ETH', 'SOL'])])
    const after = new Processor(all, '0.0.0')
    after.restore(before.records.checkpoint(NOW_MS), NOW_MS)
    const turns = Array.from({ length: PUBLISH_PHASES }, () => [...after.publish(NOW_MS)].length)
    expect(turns.filter((count) => count > 0)).toEqual([1, 1, 1])
  })

  test('publishes a missing answer within the grace period if the coin was answered since the restore', () => {
    let isAnswered = true
    const fickle = bare('fickle', () => isAnswered)
    const all = { coin: [fickle], market: [] }
    const before = new Processor(all, '0.0.0')
    before.process([universe(['BTC'])])
    const after = new Processor(all, '0.0.0')
    after.restore(before.records.checkpoint(NOW_MS), NOW_MS)
    const kindsOfARound = () =>
      Array.from({ length: PUBLISH_PHASES }, () => [...after.publish(NOW_MS)])
        .flat()
        .map(({ views }) => views['only']?.kind)
    expect(kindsOfARound()).toEqual(['answer'])
    isAnswered = false
    after.process([confirmed(NOW_MS)])
    expect([...kindsOfARound(), ...kindsOfARound()]).toEqual(['missing-input'])
  })

  test('publishes no missing answer of a restored coin before the grace period ends', () => {
    const all = { coin: [pulse], market: [] }
    const before = new Processor(all, '0.0.0')
    before.process([universe(['BTC'])])
    const after = new Processor(all, '0.0.0')
    after.restore(before.records.checkpoint(NOW_MS), NOW_MS)
    const roundAt = (nowMs: number) =>
      Array.from({ length: PUBLISH_PHASES }, () => [...after.publish(nowMs)]).flat()
    expect(roundAt(NOW_MS + 29_999), 'the answer from before the restart stays').toEqual([])
    expect(roundAt(NOW_MS + 30_000).map(({ key, views }) => [key, views['1h,4h']?.kind])).toEqual([
      ['pulse/BTC', 'missing-input'],
    ])
  })
})

function confirmed(timeMs: number, coin = 'BTC') {
  return context(coin, { timeExchangeMs: timeMs, timeReceivedMs: timeMs })
}

/** An analysis of contexts without figures. */
function bare(id: string, isAnswered: () => boolean): CoinAnalysis {
  return {
    contract: { id },
    inputs: ['context'],
    render: (_: unknown, { key, version, renderedAtMs }: Rendering) => ({
      ...{ key, version, renderedAtMs, bytes: new Uint8Array(), parts: [] },
      views: {
        only: isAnswered()
          ? { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] }
          : { kind: 'missing-input', input: 'a source that agrees' },
      },
    }),
  } as unknown as CoinAnalysis
}
