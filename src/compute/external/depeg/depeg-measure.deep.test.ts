import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { naiveInstants, naiveStates } from '../../../../test/golden/naive-depeg.ts'
import type { ExternalEvent, SourceId } from '../../../domain/external.ts'
import { ExternalState } from '../../market/external-state.ts'
import { MeasureLog } from '../../market/measure-log.ts'
import { exchangeQuote, oraclePrice, pegSourceIds, pegTape } from '../../testing/peg-tape.ts'
import { DepegMeasure, depegSeries } from './depeg-measure.ts'

const START_MS = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** A measure and its inputs; its sources can fail as one. */
class Watch {
  measure = new DepegMeasure()
  readonly market = { external: new ExternalState(), log: new MeasureLog() }

  apply(events: readonly ExternalEvent[]): void {
    for (const event of events) {
      this.market.external.apply(event)
      this.measure.apply(event)
    }
  }

  /** Every source has the same price at this rate, from one instant until another. */
  hold(fromMs: number, untilMs: number, usd: number, stepMs = 5 * SECOND_MS): void {
    for (let atMs = fromMs; atMs < untilMs; atMs += stepMs) {
      this.apply(pegTape(atMs, (_, asset) => (asset === 'USDC' ? usd : 1)))
      this.measure.advance(this.market, atMs)
    }
  }

  restart(): void {
    const saved = this.measure.save()
    this.measure = new DepegMeasure()
    expect(this.measure.restore(saved)).toBe(true)
  }
}

describe('measure of the peg', () => {
  test('looks once a second, however often it is asked', () => {
    const watch = new Watch()
    watch.apply(pegTape(START_MS))
    watch.measure.advance(watch.market, START_MS)
    const first = watch.measure.sample
    for (let ms = 50; ms < SECOND_MS; ms += 50) watch.measure.advance(watch.market, START_MS + ms)
    expect(watch.measure.sample).toBe(first)
    watch.measure.advance(watch.market, START_MS + SECOND_MS)
    expect(watch.measure.sample).not.toBe(first)
  })

  test('waits for a clock that was put back a little, and follows one that was put back far', () => {
    const watch = new Watch()
    watch.apply(pegTape(START_MS))
    watch.measure.advance(watch.market, START_MS)
    watch.measure.advance(watch.market, START_MS - 2 * SECOND_MS)
    expect(watch.measure.sample?.atMs).toBe(START_MS)
    watch.measure.advance(watch.market, START_MS - 60 * MINUTE_MS)
    expect(watch.measure.sample?.atMs).toBe(START_MS - 60 * MINUTE_MS)
  })

  test('an old quote silences no exchange, and a clock that was put back lets one fall silent', () => {
    const quoteAt = (asset: 'USDC' | 'USDT', atMs: number) =>
      exchangeQuote('kraken', asset, 'USD', 1, atMs)
    const watch = new Watch()
    const faultAt = (atMs: number) => {
      watch.measure.advance(watch.market, atMs)
      const { sources = [] } = watch.measure.sample?.evidence ?? {}
      return sources.find(({ id }) => id === 'kraken:USDC/USD')?.fault
    }
    watch.apply([quoteAt('USDC', START_MS), quoteAt('USDT', START_MS + 10 * SECOND_MS)])
    watch.apply([quoteAt('USDT', START_MS - 40 * SECOND_MS)])
    expect(faultAt(START_MS + 10 * SECOND_MS)).toBeNull()
    const backMs = START_MS - 60 * MINUTE_MS
    watch.apply([quoteAt('USDC', backMs)])
    expect(faultAt(backMs)).toBeNull()
    expect(faultAt(backMs + 6 * SECOND_MS)).toBe('too_old')
  })

  test('a premium of all sources reaches the level that the same discount reaches', () => {
    for (const [offBps, level] of [
      [12, 1],
      [60, 2],
      [150, 3],
      [300, 4],
      [700, 5],
    ] as const)
      for (const side of [-1, 1]) {
        const watch = new Watch()
        watch.hold(START_MS, START_MS + 6 * MINUTE_MS, 1 + (side * offBps) / 10_000)
        expect(watch.measure.level.level, `${side * offBps} bps`).toBe(level)
      }
  })

  test('writes the last, lowest and highest price of every minute into our history', () => {
    const watch = new Watch()
    for (const [second, usd] of [1, 0.998, 1.001, 0.9995].entries())
      watch.hold(START_MS + second * SECOND_MS, START_MS + (second + 1) * SECOND_MS, usd)
    watch.hold(START_MS + MINUTE_MS, START_MS + MINUTE_MS + 1, 1)
    const valuesOf = (series: string) => [...watch.market.log.values(series, START_MS, START_MS)]
    expect(valuesOf(depegSeries.price)[0]).toBeCloseTo(0.9995, 9)
    expect(valuesOf(depegSeries.low)[0]).toBeCloseTo(0.998, 9)
    expect(valuesOf(depegSeries.high)[0]).toBeCloseTo(1.001, 9)
  })

  test('continues the same after a restart', () => {
    const [whole, cut] = [new Watch(), new Watch()]
    for (const watch of [whole, cut]) watch.hold(START_MS, START_MS + 4 * MINUTE_MS, 0.994)
    cut.restart()
    for (const watch of [whole, cut])
      watch.hold(START_MS + 4 * MINUTE_MS, START_MS + 6 * MINUTE_MS, 0.994)
    expect(cut.measure.level.level).toBe(2)
    expect(cut.measure.level.spellSeconds()).toEqual(whole.measure.level.spellSeconds())
    expect(cut.measure.level.sinceMs).toBe(whole.measure.level.sinceMs)
    expect(cut.measure.save()).toEqual(whole.measure.save())
  })

  test('the minute in which it was stopped is not lost', () => {
    const watch = new Watch()
    watch.hold(START_MS, START_MS + 30 * SECOND_MS, 0.999)
    const saved = watch.measure.save()
    const next = new Watch()
    expect(next.measure.restore(saved)).toBe(true)
    next.hold(START_MS + 2 * MINUTE_MS, START_MS + 3 * MINUTE_MS, 1)
    const prices = next.market.log.values(depegSeries.price, START_MS, START_MS + 3 * MINUTE_MS)
    expect(prices).toHaveLength(2)
    expect(prices[0]).toBeCloseTo(0.999, 9)
    const { minutes } = next.market.log.take()
    expect(minutes.map(({ series }) => series).sort()).toEqual(Object.values(depegSeries).sort())
  })

  test('refuses what another version saved', () => {
    const { measure } = new Watch()
    expect(measure.restore(new Float64Array(0))).toBe(false)
    expect(measure.restore(Float64Array.from([1, 2, 3]))).toBe(false)
    expect(measure.restore(measure.save().with(1, 99))).toBe(false)
    expect(measure.restore(measure.save().slice(0, -1))).toBe(false)
  })

  test('does not know whether the peg is broken before, or long after, it had a price', () => {
    const watch = new Watch()
    expect(watch.measure.isBroken(START_MS)).toBeUndefined()
    watch.hold(START_MS, START_MS + SECOND_MS, 0.99)
    expect(watch.measure.isBroken(START_MS)).toBe(true)
    expect(watch.measure.isBroken(START_MS + MINUTE_MS)).toBe(true)
    expect(watch.measure.isBroken(START_MS + MINUTE_MS + 1)).toBeUndefined()
    watch.hold(START_MS + 2 * MINUTE_MS, START_MS + 2 * MINUTE_MS + 1, 0.9990001)
    expect(watch.measure.isBroken(START_MS + 2 * MINUTE_MS)).toBe(false)
  })

  test('without a price nothing changes, and nothing is recorded', () => {
    const watch = new Watch()
    watch.apply([oraclePrice({ priceUsd: Number.NaN }, START_MS)])
    watch.apply([exchangeQuote('kraken', 'USDC', 'USD', 0, START_MS)])
    const before = watch.measure.save()
    watch.measure.advance(watch.market, START_MS)
    expect(watch.measure.sample?.price).toBeNull()
    expect(watch.measure.save()).toEqual(before)
    expect(watch.market.log.values(depegSeries.price, START_MS, START_MS)).toHaveLength(0)
  })

  test('an exchange with status down has no recent message', () => {
    const watch = new Watch()
    const at = (ms: number) => ({ timeExchangeMs: START_MS + ms, timeReceivedMs: START_MS + ms })
    watch.apply([exchangeQuote('kraken', 'USDC', 'USD', 1, START_MS)])
    watch.apply([exchangeQuote('kraken', 'BTC', 'USD', 60_000, START_MS + 8 * SECOND_MS)])
    watch.measure.advance(watch.market, START_MS + 9 * SECOND_MS)
    expect(watch.measure.sample?.price?.priceUsd).toBeCloseTo(1, 12)
    const down = { kind: 'source-status', source: 'kraken', state: 'down', reason: '' } as const
    watch.apply([{ ...down, ...at(9 * SECOND_MS) }])
    watch.measure.advance(watch.market, START_MS + 10 * SECOND_MS)
    expect(watch.measure.sample?.price).toBeNull()
  })

  const chapter = fc.record({
    seconds: fc.integer({ min: 30, max: 600 }),
    offBps: fc.constantFrom(0, -3, -12, -30, -70, -130, -260, -700, 40, 300),
    liar: fc.constantFrom(...pegSourceIds),
    lieBps: fc.constantFrom(0, 0, -500, 500),
    dead: fc.subarray([...pegSourceIds], { maxLength: 12 }),
  })

  property.prop([fc.array(chapter, { minLength: 1, maxLength: 6 }), fc.nat({ max: 5 })], {
    numRuns: 10,
  })(
    'any course gives what the naive rule gives, restarts and lost sources included',
    (chapters, restartAt) => {
      const watch = new Watch()
      const events: ExternalEvent[] = []
      const instantsMs: number[] = []
      const found: unknown[] = []
      let atMs = START_MS
      for (const [at, { seconds, offBps, liar, lieBps, dead }] of chapters.entries()) {
        if (at === restartAt) watch.restart()
        const quoted = (source: SourceId, asset: string) =>
          (asset === 'USDC' ? 1 + offBps / 10_000 : 1) * (source === liar ? 1 + lieBps / 10_000 : 1)
        for (let second = 0; second < seconds; second += 3, atMs += 3 * SECOND_MS) {
          const told = pegTape(atMs, quoted, new Set(dead))
          events.push(...told)
          instantsMs.push(atMs)
          watch.apply(told)
          watch.measure.advance(watch.market, atMs)
          const { level, status } = watch.measure
          found.push({ level: level.level, status: status.name, seconds: level.spellSeconds() })
        }
      }
      expect(found).toEqual(naiveStates(naiveInstants(events, instantsMs)))
    },
  )
})
