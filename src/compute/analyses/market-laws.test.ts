import { fc, test as property } from '@fast-check/vitest'
import { Compile } from 'typebox/compile'
import { beforeAll, describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import { unsoundParts } from '../../api/testing/answer-parts.ts'
import type { Document } from '../../domain/document.ts'
import { documentKey, viewOf, viewsOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { isExternal } from '../../domain/external.ts'
import type { HistoryBatch } from '../../domain/history.ts'
import { renderMarket } from '../../workers/market-worker.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { oraclePrice, poolEvents, rateEvents } from '../testing/chain-tape.ts'
import { coinHistory } from '../testing/coin-history.ts'
import { externalEvents } from '../testing/external-events.ts'
import { randomMarket } from '../testing/random-market.ts'
import { Session } from '../testing/session.ts'
import type { Identity } from '../testing/stated-identities.ts'
import { brokenIdentities, identities } from '../testing/stated-identities.ts'
import { NOW_MS, universe, warmTape, wave } from '../testing/tape.ts'
import { analyses, documentKinds } from './registry.ts'

const COINS = 'BTC ETH SOL HYPE XRP DOGE kPEPE kBONK SUI LINK AVAX ARB'.split(' ')
const MINUTE_MS = 60_000
const SESSION_MS = 90_000
const RESTART_MS = 8_000
/** Between events of external sources in a session. */
const EXTERNAL_STEP_MS = 5_000
/** Near what the coins of the tape cost. */
const EXTERNAL_USD = { ETH: 110, BTC: 110, USDC: 1 }
/** The regime is worked out at whole five minutes. */
const REGIME_KNOWN_MS = 310_000
const SEED = 7

const contracts = analyses.market.map(({ contract }) => contract)
/** Those of which the coins are the subject. */
const ofCoins = contracts.filter(({ id }) => ['screener', 'correlation'].includes(id))

/** By the id of the analysis. */
type Documents = ReadonlyMap<string, Document>

type Market = { readonly tape: readonly Batch[]; readonly nowMs: number }

/** Coins that have nothing in common; coins that swing together with a month behind them; the same, live. */
const markets: Readonly<Record<string, Market>> = {
  'a random market': {
    tape: [...randomMarket(COINS, SEED), externalAt(NOW_MS)],
    nowMs: NOW_MS,
  },
  'a remembered market': { tape: rememberedMarket(), nowMs: NOW_MS },
  'a live market': liveMarket(),
}

/** What holds for every answer about the whole market, told of more than one coin. */
describe.each(Object.entries(markets).map(([name, market]) => ({ name, ...market })))(
  'on $name',
  ({ tape, nowMs }) => {
    let engine: Processor
    let documents: Documents
    beforeAll(() => {
      engine = settled(tape, nowMs)
      documents = documentsOf(engine, nowMs)
    })

    test.each(contracts)(
      '$id answers in every view by its schema, with finite numbers that agree',
      ({ id, document: published, defaultView }) => {
        const document = of(documents, id)
        const schema = Compile(published)
        expect(Object.keys(document.views)).toContain(defaultView)
        for (const [view, { kind }] of Object.entries(document.views)) {
          expect(kind, `view ${view}`).toBe('answer')
          const body = read(document, view, nowMs)
          expect([...schema.Errors(body)], `view ${view}`).toEqual([])
          expect(notFinite(body), `view ${view}`).toEqual([])
          expect(brokenIdentities(body), `view ${view}`).toEqual([])
        }
      },
    )

    test.each(contracts)('$id: any member can be asked for by itself', (contract) => {
      const document = of(documents, contract.id)
      expect(unsoundParts(contract, document, nowMs)).toEqual([])
    })

    test.each(ofCoins)('$id speaks of all its coins', ({ id, defaultView }) => {
      const text = JSON.stringify(read(of(documents, id), defaultView, nowMs))
      expect(COINS.filter((coin) => !text.includes(`"${coin}"`))).toEqual([])
    })

    test('the same events give the same bytes', () => {
      expect(documentsOf(settled(tape, nowMs), nowMs)).toEqual(documents)
    })

    test('one event a batch gives the same bytes', () => {
      const single = tape.flat().map((event) => [event])
      expect(documentsOf(settled(single, nowMs), nowMs)).toEqual(documents)
    })

    test.each(contracts)('$id gives the same bytes on the other side of a thread', ({ id }) => {
      const job = engine.gather(id, nowMs)
      const there = renderMarket(structuredClone(job))
      expect(renderMarket(job)).toEqual(there)
      expect(renderMarket(job), 'and leaves the job as it was').toEqual(there)
    })

    test('a restored engine with reloaded history gives the same answer', () => {
      const restored = restoredOf(engine, tape, nowMs)
      settle(restored, nowMs)
      expect(bodiesOf(restored, nowMs)).toEqual(bodiesOf(engine, nowMs))
    })
  },
)

test('every stated identity is evaluated, and holds', () => {
  const { tape, nowMs } = liveMarket()
  // The live market has no dislocation, no moving average of USDC and no oracle price of BTC.
  const wideBps = (asset: string, chain: string) => (asset === 'ETH' && chain === 'base' ? 40 : 0)
  const average = {
    ...oraclePrice('USDC', 1, nowMs),
    ema: { priceUsd: 1.001, confidenceUsd: 1e-4 },
  }
  const lacking = [...externalEvents('BTC', 110, nowMs), average]
  const gaps = poolEvents(nowMs, wideBps, EXTERNAL_USD)
  const engine = processorOf([...tape, [...lacking, ...gaps]])
  const phases = Array.from({ length: PUBLISH_PHASES }, () => [...engine.publish(nowMs)])
  const ofBtc = phases.flat().filter(({ key }) => key.endsWith('/BTC'))
  const evaluated = new Set<Identity>()
  for (const document of [...ofBtc, ...documentsOf(engine, nowMs).values()])
    for (const [view, { kind }] of Object.entries(viewsOf(document)))
      if (kind === 'answer')
        expect(brokenIdentities(read(document, view, nowMs), evaluated), document.key).toEqual([])
  const never = identities.filter((identity) => !evaluated.has(identity))
  expect(never.map(([member, , from]) => `${member}: ${from}`)).toEqual([])
})

describe('in a session', () => {
  const { tape, nowMs } = liveMarket()
  let documents: Documents
  beforeAll(() => {
    documents = documentsOf(settled(tape, nowMs), nowMs)
  })

  property.prop([fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 10 })], { numRuns: 3 })(
    'the bytes are the same however the frames of a minute were cut',
    (sizes) => {
      expect(documentsOf(settled(reframed(tape, sizes), nowMs), nowMs)).toEqual(documents)
    },
  )

  test('an engine that was restored in the middle goes on to say the same', () => {
    const sessions = sessionsOf()
    const past = rememberedMarket()
    const first = settled(past, NOW_MS)
    for (const batch of run(sessions, REGIME_KNOWN_MS)) first.process(batch)
    settle(first, NOW_MS + REGIME_KNOWN_MS)
    const restored = restoredOf(first, past, NOW_MS + REGIME_KNOWN_MS)
    // A restart takes longer than the quotes before it are good for.
    for (const session of sessions) session.pause(RESTART_MS)
    for (const batch of run(sessions, SESSION_MS)) {
      first.process(batch)
      restored.process(batch)
    }
    const endMs = NOW_MS + REGIME_KNOWN_MS + RESTART_MS + SESSION_MS
    for (const processor of [first, restored]) settle(processor, endMs)
    const bodies = bodiesOf(first, endMs)
    expect(JSON.stringify(bodies), 'all of it is known').not.toContain('UNKNOWN')
    expect(bodiesOf(restored, endMs)).toEqual(bodies)
  })
})

describe('in a thread', () => {
  test('earlier renderings change nothing', () => {
    const names = Array.from({ length: 2 * COINS.length }, (_, at) => `C${at}`)
    const larger = settled(randomMarket(['BTC', ...names], SEED + 1), NOW_MS)
    const small = settled(randomMarket(COINS, SEED), NOW_MS)
    for (const { id } of contracts) {
      const job = small.gather(id, NOW_MS)
      const before = renderMarket(job)
      renderMarket(larger.gather(id, NOW_MS))
      expect(renderMarket(job)).toEqual(before)
    }
  })

  test('a document has its key and a rising version', () => {
    const processor = settled(rememberedMarket(), NOW_MS)
    for (const { id } of contracts) {
      const before = renderMarket(processor.gather(id, NOW_MS))
      const after = renderMarket(processor.gather(id, NOW_MS))
      expect(before.key).toBe(documentKey(id, WHOLE_MARKET))
      expect(after.version).toBeGreaterThan(before.version)
    }
  })
})

describe.each([
  { market: 'of which nothing was heard', tape: [] },
  { market: 'without a coin', tape: [[universe([])]] },
  { market: 'of coins of which nothing is known', tape: [[universe(COINS)]] },
  { market: 'of coins that have not had a day of hours', tape: youngMarket() },
  { market: 'of coins of which BTC alone is known', tape: coinTape('BTC', 0) },
  { market: 'of coins of which one other than BTC is known', tape: coinTape('ETH', 1) },
])('a market $market', ({ tape }) => {
  test('has a reason in every view, and no answer', () => {
    const documents = documentsOf(settled(tape, NOW_MS), NOW_MS)
    for (const { id, defaultView } of contracts) {
      const { views } = of(documents, id)
      expect(Object.keys(views)).toContain(defaultView)
      for (const view of Object.values(views)) expect(view.kind, id).not.toBe('answer')
    }
  })
})

/** Each coin with bars of both timeframes, figures, a book and its own month. */
function rememberedMarket(): Batch[] {
  const [first = []] = warmTape('BTC')
  const up = first.filter(({ kind }) => kind === 'feed-status')
  return [[universe(COINS), ...up], ...COINS.flatMap(coinTape), externalAt(NOW_MS)]
}

/** Events of external sources at one instant; prices wander a little, each its own way. */
function externalAt(atMs: number): Batch {
  const wanderBps = (asset: string, chain: string) =>
    3 * Math.sin(atMs / 7_000 + asset.length + 5 * chain.length)
  return [...rateEvents(atMs, EXTERNAL_USD), ...poolEvents(atMs, wanderBps, EXTERNAL_USD)]
}

/** One coin of a market, with a wave of its own height. What the venue tells of an hour is the last word on it. */
function coinTape(coin: string, at: number): Batch[] {
  const bars: typeof wave = (timeframe, count) => wave(timeframe, count, 0.05 - 0.002 * at)
  return [[universe(COINS)], ...coinHistory(coin, at), ...warmTape(coin, bars).slice(1)]
}

/** Its coins are known but for what was before the last hours; no external source is. */
function youngMarket(): Batch[] {
  return rememberedMarket()
    .slice(0, -1)
    .map((batch) =>
      batch.map((event) => {
        if (event.kind === 'sample-history') return { ...event, samples: event.samples.slice(-20) }
        return event.kind === 'hourly-history' || event.kind === 'history'
          ? { ...event, bars: event.bars.slice(-20) }
          : event
      }),
    )
}

function liveMarket(): Market {
  const tape = [...rememberedMarket(), ...run(sessionsOf(), SESSION_MS)]
  return { tape, nowMs: NOW_MS + SESSION_MS }
}

function sessionsOf(): readonly Session[] {
  return COINS.map((coin, at) => new Session(coin, NOW_MS, SEED + at))
}

/** Events of all coins and external sources, in the order of time. */
function run(sessions: readonly Session[], ms: number): readonly Batch[] {
  const fromMs = sessions[0]?.nowMs ?? NOW_MS
  const external = Array.from({ length: ms / EXTERNAL_STEP_MS }, (_, at) =>
    externalAt(fromMs + (at + 1) * EXTERNAL_STEP_MS),
  )
  return [...sessions.flatMap((session) => [...session.run(ms)]), ...external].sort(
    (one, other) => timeMs(one) - timeMs(other),
  )
}

function timeMs([event]: Batch): number {
  if (event === undefined) throw new Error('no batch of a session is empty')
  return event.timeExchangeMs
}

/** The events of each minute in batches of the given sizes: what is sampled at a minute is heard before it. */
function reframed(tape: readonly Batch[], sizes: readonly number[]): readonly Batch[] {
  const minuteOf = ({ timeExchangeMs }: MarketEvent) => Math.floor(timeExchangeMs / MINUTE_MS)
  const batches: MarketEvent[][] = []
  for (const event of tape.flat()) {
    const last = batches.at(-1)
    const size = sizes[batches.length % sizes.length] ?? 1
    const [head] = last ?? []
    if (last === undefined || head === undefined || last.length >= size) batches.push([event])
    // External sources have a separate stream.
    else if (isExternal(head) !== isExternal(event)) batches.push([event])
    else if (minuteOf(head) !== minuteOf(event)) batches.push([event])
    else last.push(event)
  }
  return batches
}

/** An engine that starts from what another one saved, and is told what history remembers of its coins. */
function restoredOf(first: Processor, tape: readonly Batch[], nowMs: number): Processor {
  const history = first.records.takeHistory()
  const restored = new Processor(documentKinds, '0.0.0')
  restored.restore(first.records.checkpoint(nowMs), nowMs)
  const past = tape.flat().filter((event) => event.kind.endsWith('-history') || isExternal(event))
  restored.process([...past, ...COINS.flatMap((coin) => remembered(history, coin, nowMs))])
  restored.process(rememberedMeasures(history, nowMs))
  return restored
}

/** What our history on disk tells of a coin to an engine that starts. */
function remembered(history: HistoryBatch, coin: string, nowMs: number): readonly MarketEvent[] {
  const at = { coin, timeExchangeMs: nowMs, timeReceivedMs: nowMs, isRemembered: true as const }
  const samples = history.samples.filter((sample) => sample.coin === coin)
  const rows = history.fundings.filter((row) => row.coin === coin)
  const bars = history.bars.flatMap(({ timeframe, bar, coin: name }) =>
    timeframe === '1h' && name === coin ? [bar] : [],
  )
  return [
    { kind: 'sample-history', samples, ...at },
    { kind: 'funding-history', rows, ...at },
    { kind: 'hourly-history', bars, ...at },
  ]
}

function rememberedMeasures({ measures }: HistoryBatch, nowMs: number): readonly MarketEvent[] {
  return measures.map(({ series, ...row }) => ({
    kind: 'measure-history',
    series,
    rows: [row],
    timeExchangeMs: nowMs,
    timeReceivedMs: nowMs,
  }))
}

function processorOf(tape: readonly Batch[]): Processor {
  const processor = new Processor(documentKinds, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return processor
}

function settled(tape: readonly Batch[], nowMs: number): Processor {
  const processor = processorOf(tape)
  settle(processor, nowMs)
  return processor
}

/** A second of an engine: what is worked out a few coins at a time is worked out of all of them. */
function settle(processor: Processor, nowMs: number): void {
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1) for (const _ of processor.publish(nowMs));
}

function documentsOf(processor: Processor, nowMs: number): Documents {
  return new Map(contracts.map(({ id }) => [id, renderMarket(processor.gather(id, nowMs))]))
}

function of(documents: Documents, id: string): Document {
  const document = documents.get(id)
  if (document === undefined) throw new Error(`no document of ${id}`)
  return document
}

/** What an agent reads in every view, without the identity of the rendering. */
function bodiesOf(processor: Processor, nowMs: number): unknown {
  return Array.from(documentsOf(processor, nowMs), ([id, document]) =>
    Object.keys(document.views).map((view) => {
      const { meta, ...body } = read(document, view, nowMs)
      const { warnings, quality, data_age_seconds } = meta
      return { id, view, body, warnings, quality, data_age_seconds }
    }),
  )
}

type Body = { readonly meta: Readonly<Record<string, unknown>> }

function read(document: Document, view: string, nowMs: number): Body {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no answer in view ${view}`)
  const facts = { nowMs: nowMs + 1_000, executionMs: 0.1, coinsAvailable: COINS.length }
  const text = fillDocument(document, answer, facts).toString('utf8')
  const body = JSON.parse(text) as Body
  // So the hash of a receipt can be checked after the answer was parsed.
  expect(JSON.stringify(body), 'the bytes are not as JSON.stringify writes them').toBe(text)
  return body
}

/** Paths of numbers that no JSON text can say, and of words that were meant as one. */
function notFinite(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [path]
  if (typeof value === 'string')
    return /^(NaN|-?Infinity|undefined|null)$/.test(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => notFinite(member, `${path}.${name}`))
}
