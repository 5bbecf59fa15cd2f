import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fc, test as property } from '@fast-check/vitest'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import { unsoundParts } from '../../api/testing/answer-parts.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import type { Document } from '../../domain/document.ts'
import { documentKey, viewOf, viewsOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { isExternal } from '../../domain/external.ts'
import type { HistoryBatch } from '../../domain/history.ts'
import { FUNDING_STEP_MS } from '../../domain/history.ts'
import { packDocument } from '../../domain/packed-document.ts'
import { splitNamed } from '../market/saved-sections.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../processor.ts'
import { metaMembers } from '../render/answer-schema.ts'
import { coinHistory } from '../testing/coin-history.ts'
import { externalEvents } from '../testing/external-events.ts'
import type { NumericField } from '../testing/schema-fields.ts'
import { numericFields } from '../testing/schema-fields.ts'
import { Session } from '../testing/session.ts'
import { brokenIdentities } from '../testing/stated-identities.ts'
import {
  BOUNDARY_MS,
  book,
  context,
  flat,
  fundingHistory,
  NOW_MS,
  universe,
  warmTape,
  wave,
} from '../testing/tape.ts'
import { claimKeeper } from '../track-record/claim-keeper.ts'
import { trackRecord } from '../track-record-statistics/track-record.ts'
import { analyses, contracts, documentKinds } from './registry.ts'

/** No analysis of a coin rests for more periods than this. */
const PUBLISHED_WITHIN = 10
const MINUTE_MS = 60_000
const SEED = 7
/** After every session below. */
const END_MS = NOW_MS + 20 * MINUTE_MS

/** What holds for every analysis, whatever it measures. */
describe.each(analyses.coin.map((analysis) => ({ id: analysis.contract.id, analysis })))(
  '$id',
  ({ id, analysis }) => {
    const { contract } = analysis

    test.each([
      { market: 'a moving market', tape: warm() },
      { market: 'a market without a single trade', tape: warm(flat) },
      {
        market: 'a one-sided market',
        tape: [
          ...warm(),
          [context('BTC', { midPrice: null, premium: null, impactBid: null, impactAsk: null })],
        ],
      },
    ])('every answer on $market satisfies the published schema', ({ tape }) => {
      const document = documentOf(id, tape)
      const schema = Compile(contract.document)
      let answers = 0
      for (const [view, answer] of Object.entries(viewsOf(document))) {
        if (answer.kind !== 'answer') continue
        answers += 1
        const text = filled(document, view)
        const body: unknown = JSON.parse(text)
        // So the hash of a receipt can be checked after the answer was parsed.
        expect(JSON.stringify(body), 'the bytes are not as JSON.stringify writes them').toBe(text)
        // A number that went wrong is null in JSON, which the schema bars where it has no meaning.
        expect([...schema.Errors(body)], `view ${view}`).toEqual([])
      }
      expect(answers).toBeGreaterThan(0)
    })

    test('the default view answers once the coin is warm', () => {
      const view = viewOf(documentOf(id, warm()), contract.defaultView)
      expect(view?.kind).toBe('answer')
    })

    test('any member can be selected with `fields`, together with coin and time', () => {
      const document = documentOf(id, warm())
      expect(unsoundParts(contract, document, NOW_MS)).toEqual([])
    })

    test('a document reaches another thread as it was rendered', () => {
      for (const tape of [warm(), [[universe(['BTC'])]]]) {
        const document = documentOf(id, tape)
        const { nextUpdateMs, parts, views, numbered } = packDocument(document)
        const read = { ...document, nextUpdateMs, parts, views, numbered }
        expect(read).toEqual(document)
        // The order of members, too, which the checksums of recordings cover.
        expect(JSON.stringify(read)).toBe(JSON.stringify(document))
      }
    })

    test('a coin without data has a reason in every view, and no answer', () => {
      const views = viewsOf(documentOf(id, [[universe(['BTC'])]]))
      expect(Object.keys(views)).toContain(contract.defaultView)
      for (const view of Object.values(views)) expect(view.kind).not.toBe('answer')
    })

    test('the same events give the same bytes, however they were batched', () => {
      const tape = warm()
      const reframed = [tape.flat()]
      expect(documentOf(id, reframed)).toEqual(documentOf(id, tape))
    })

    test('a restored engine answers like the original one', () => {
      const tape = warm()
      const first = new Processor(documentKinds, '0.0.0')
      for (const batch of tape) first.process(batch)
      const history = first.records.takeHistory()
      const restored = new Processor(documentKinds, '0.0.0')
      restored.restore(first.records.checkpoint(NOW_MS), NOW_MS)
      for (const event of remembered(tape, history, NOW_MS)) restored.process([event])
      // What the venue sends within a second of connecting.
      restored.process([fundingHistory('BTC'), context('BTC'), book('BTC'), openBar()])
      restored.process(worldAt(NOW_MS))
      first.process([openBar()])
      expect(answerOf(publishAll(restored, id))).toEqual(answerOf(publishAll(first, id)))
    })

    test('every answer of a session satisfies its schema, with finite numbers that agree', () => {
      const document = documentOf(id, sessionOf(20 * MINUTE_MS), END_MS)
      const schema = Compile(contract.document)
      const answers = Object.entries(viewsOf(document)).filter(([, { kind }]) => kind === 'answer')
      expect(answers.length).toBeGreaterThan(0)
      for (const [view] of answers) {
        const body: unknown = JSON.parse(filled(document, view, END_MS))
        expect([...schema.Errors(body)], `view ${view}`).toEqual([])
        expect(notFinite(body)).toEqual([])
        expect(brokenIdentities(body)).toEqual([])
      }
    })

    property.prop([fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 20 })], { numRuns: 5 })(
      'a session gives the same bytes however the frames of a minute were cut',
      (cuts) => {
        const tape = sessionOf(3 * MINUTE_MS)
        expect(documentOf(id, reframed(tape, cuts), END_MS)).toEqual(documentOf(id, tape, END_MS))
      },
    )

    test('an engine restored in the middle of a session gives the same answers', () => {
      for (const { hour, nowMs, first, restored } of restartedSession())
        expect(answerOf(documentIn(restored, id), nowMs), `the hour is ${hour}`).toEqual(
          answerOf(documentIn(first, id), nowMs),
        )
    })

    test('a delisted coin is not rendered', () => {
      const processor = new Processor(documentKinds, '0.0.0')
      processor.process([universe(['BTC'], ['OLD'])])
      processor.process([context('OLD')])
      expect(publishedKeys(processor)).not.toContain(`${id}/OLD`)
    })

    test('versions rise with every rendering', () => {
      const processor = new Processor(documentKinds, '0.0.0')
      for (const batch of warm()) processor.process(batch)
      const before = publishAll(processor, id).version
      processor.process([book('BTC'), context('BTC')])
      expect(publishAll(processor, id, NOW_MS + 1).version).toBeGreaterThan(before)
    })
  },
)

/** What holds for every answer about the whole market. */
describe.each(analyses.market.map((analysis) => ({ id: analysis.contract.id, analysis })))(
  '$id',
  ({ id, analysis }) => {
    const { contract } = analysis

    test('every answer of a session satisfies its schema, with finite numbers that agree', () => {
      const document = marketDocumentOf(id, sessionOf(20 * MINUTE_MS), END_MS)
      const schema = Compile(contract.document)
      expect(Object.keys(viewsOf(document))).toContain(contract.defaultView)
      for (const [view, { kind }] of Object.entries(viewsOf(document))) {
        if (kind !== 'answer') continue
        const body: unknown = JSON.parse(filled(document, view, END_MS))
        expect([...schema.Errors(body)], `view ${view}`).toEqual([])
        expect(notFinite(body)).toEqual([])
        expect(brokenIdentities(body)).toEqual([])
      }
    })

    test('a market without data has a reason in every view, and no answer', () => {
      const { views } = marketDocumentOf(id, [[universe(['BTC'])]], NOW_MS)
      expect(Object.keys(views)).toContain(contract.defaultView)
      for (const view of Object.values(views)) expect(view.kind).not.toBe('answer')
    })

    test('gathered data give the same bytes in another thread', () => {
      const processor = processorOf(sessionOf(3 * MINUTE_MS))
      const { gathered, rendering } = processor.gather(id, END_MS)
      expect(analysis.render(structuredClone(gathered), rendering)).toEqual(
        analysis.render(gathered, rendering),
      )
    })

    property.prop([fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 20 })], { numRuns: 5 })(
      'a session gives the same bytes however the frames of a minute were cut',
      (cuts) => {
        const tape = sessionOf(3 * MINUTE_MS)
        expect(marketDocumentOf(id, reframed(tape, cuts), END_MS)).toEqual(
          marketDocumentOf(id, tape, END_MS),
        )
      },
    )
  },
)

/** What is promised about the words of every answer. */
describe.each(contracts.map((contract) => ({ id: contract.id, fields: fieldsOf(contract) })))(
  'the schema of $id',
  ({ id, fields }) => {
    test('describes every number with its unit', () => {
      const silent = fields.filter(
        ({ name, description, isBounded }) =>
          description === '' ||
          !(isBounded || UNIT_SUFFIX.test(name) || UNIT_WORDS.test(description)),
      )
      expect(silent.map(({ path }) => path)).toEqual([])
    })

    test.each([
      { unit: 'basis points', words: /in basis points/, name: /_bps/ },
      { unit: 'percent', words: /, percent\b/, name: /_pct/ },
      { unit: 'seconds', words: /^Seconds/, name: /_seconds/ },
      { unit: 'hours', words: /, hours\b/, name: /(^|_)hours/ },
      { unit: 'milliseconds', words: /, ms\b/, name: /_ms/ },
    ])('names what is in $unit so', ({ words, name }) => {
      const unnamed = fields.filter(
        (field) =>
          words.test(field.description) &&
          !name.test(field.name) &&
          !namedByContract.has(field.name),
      )
      expect(unnamed.map(({ path }) => path)).toEqual([])
    })

    test('has all members of meta', () => {
      const meta = Object.keys(metaMembers)
      const contract = contracts.find((one) => one.id === id)
      const schema = contract?.document as unknown as PublishedAnswer
      expect(Object.keys(schema.properties.meta.properties)).toEqual(
        expect.arrayContaining([...meta, 'offering']),
      )
    })
  },
)

test('memory stays bounded under sustained input', () => {
  const session = new Session('BTC', NOW_MS, SEED)
  const processor = processorOf(session.warm())
  let events = 0
  const hear = (eventsMax: number) => {
    while (events < eventsMax) {
      for (const batch of session.run(30 * MINUTE_MS)) {
        events += batch.length
        processor.process(batch)
      }
      processor.process(worldAt(session.nowMs))
      for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
        for (const _ of processor.publish(session.nowMs));
      for (const { contract } of analyses.market) processor.gather(contract.id, session.nowMs)
      processor.records.takeHistory()
      processor.records.takeClaims()
    }
    return { heapBytes: heapBytes(), savedNumbers: savedNumbers(processor, session.nowMs) }
  }
  // A day and an hour, after which what is kept for a day is full.
  const before = hear(400_000)
  const after = hear(1_000_000)
  expect(after.savedNumbers).toBeLessThanOrEqual(before.savedNumbers * 1.05)
  // Four bytes an event would show.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(2.4e6)
}, 120_000)

type PublishedAnswer = {
  readonly properties: { readonly meta: { readonly properties: Readonly<Record<string, unknown>> } }
}

/** What the specification or the contract calls otherwise, with the unit in the description alone. */
const namedByContract = new Set([
  'delta_1h',
  'delta_4h',
  'delta_24h',
  'price_change_1h',
  'price_change_4h',
  'price_change_24h',
])

const UNIT_SUFFIX =
  /_(bps|usd|seconds|hours|ms|pct|iso|multiplier)(_\d+[hdm])?$|^(n|score|net)$|_(n|score|count|scanned|total|available)$/
const UNIT_WORDS =
  /\b(USD|basis points|percent|Unix seconds|seconds|hours|minutes|fraction|times|number of|ratio|share|weight|coin's unit|deviations|contracts|0 to 1|-1 to 1|0 to 100|\d+ to \d+)\b/i

function fieldsOf({ document }: AnalysisContract): readonly NumericField[] {
  return numericFields(document)
}

/** Of everything that is reachable, after what is not was collected. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Without what is kept permanently or for months, within bounds of its own: the record and its open claims. */
function savedNumbers(processor: Processor, nowMs: number): number {
  let numbers = 0
  for (const saved of processor.records.checkpoint(nowMs).coins.values()) numbers += saved.length
  const market = processor.records.row(WHOLE_MARKET, nowMs)
  const sections = market === null ? null : splitNamed(market)
  for (const { id } of [trackRecord, claimKeeper]) numbers -= sections?.get(id)?.length ?? 0
  return numbers
}

/** Paths of numbers that no JSON text can say, and of words that were meant as one. */
function notFinite(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [path]
  if (typeof value === 'string')
    return /^(NaN|-?Infinity|undefined|null)$/.test(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => notFinite(member, `${path}.${name}`))
}

function sessionOf(ms: number): readonly Batch[] {
  const session = new Session('BTC', NOW_MS, SEED)
  return [...session.warm(), ...eventsOf(session, ms)]
}

/** A coin from nothing to answerable, with external sources. */
function warm(bars?: typeof wave): readonly Batch[] {
  return [...warmTape('BTC', bars), worldAt(NOW_MS)]
}

/** With a month of history, so that hourly figures have ranks. */
function withMonth([listing = [], ...others]: readonly Batch[]): readonly Batch[] {
  return [listing, ...coinHistory('BTC', 0), ...others]
}

/** The venue's events, and every second those of external sources. */
function* eventsOf(session: Session, ms: number): Generator<Batch> {
  let second = Number.NaN
  for (const batch of session.run(ms)) {
    const now = Math.floor(session.nowMs / 1_000)
    if (now !== second) yield worldAt(session.nowMs)
    second = now
    yield batch
  }
}

/** Near what the coin of the tape costs; it wanders a little. */
function worldAt(timeMs: number): Batch {
  return externalEvents('BTC', 104 + 0.1 * Math.sin(timeMs / 7_000), timeMs)
}

/** The events of each minute in batches of the given sizes: what is sampled at a minute is heard before it. */
function reframed(tape: readonly Batch[], sizes: readonly number[]): readonly Batch[] {
  const minutes = new Map<number, MarketEvent[]>()
  for (const event of tape.flat()) {
    const minute = Math.floor(event.timeExchangeMs / MINUTE_MS)
    const events = minutes.get(minute)
    if (events === undefined) minutes.set(minute, [event])
    else events.push(event)
  }
  return [...minutes.values()].flatMap((events) => {
    const batches: Batch[] = []
    for (let at = 0; at < events.length; ) {
      const size = sizes[batches.length % sizes.length] ?? 1
      const end = endOfStream(events, at, at + size)
      batches.push(events.slice(at, end))
      at = end
    }
    return batches
  })
}

/** Venue and external sources have separate streams: no batch holds events of both. */
function endOfStream(events: readonly MarketEvent[], from: number, end: number): number {
  const first = events[from]
  if (first === undefined) return end
  const other = events.findIndex(
    (event, at) => at > from && isExternal(event) !== isExternal(first),
  )
  return other === -1 ? end : Math.min(end, other)
}

/** What an engine that starts loads from history: what was there before, and what the engine before it wrote. */
function remembered(
  tape: readonly Batch[],
  { samples, bars, fundings }: HistoryBatch,
  nowMs: number,
): MarketEvent[] {
  const stamp = { coin: 'BTC', timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  const hours = bars.flatMap(({ timeframe, bar }) => (timeframe === '1h' ? [bar] : []))
  return [
    ...tape.flat().filter(({ kind }) => kind.endsWith('-history')),
    { kind: 'sample-history', samples, ...stamp },
    { kind: 'funding-history', rows: fundings, isRemembered: true, ...stamp },
    { kind: 'hourly-history', bars: hours, isRemembered: true, ...stamp },
  ]
}

type Documents = ReadonlyMap<string, Document>

type RestartedSession = {
  /** How the funding of the last hour is known. */
  readonly hour: 'estimated' | 'settled'
  readonly nowMs: number
  readonly first: Documents
  readonly restored: Documents
}

let restarted: readonly RestartedSession[] | null = null

/**
 * By an engine that runs through a session, and by one restored in it: a whole hour and its minutes before the restart
 * are live figures to the first one, and history to the other.
 */
function restartedSession(): readonly RestartedSession[] {
  restarted ??= runRestartedSession()
  return restarted
}

function runRestartedSession(): readonly RestartedSession[] {
  const session = new Session('BTC', NOW_MS, SEED)
  const tape = withMonth(session.warm())
  const first = processorOf(tape)
  for (const batch of session.run(57 * MINUTE_MS)) first.process(batch)
  for (const batch of eventsOf(session, 4 * MINUTE_MS)) first.process(batch)
  const history = first.records.takeHistory()
  const restored = new Processor(documentKinds, '0.0.0')
  restored.restore(first.records.checkpoint(session.nowMs), session.nowMs)
  for (const event of remembered(tape, history, session.nowMs)) restored.process([event])
  // A restart takes longer than the quotes before it are good for.
  session.pause(8_000)
  const after = (hour: RestartedSession['hour'], batches: Iterable<Batch>): RestartedSession => {
    for (const batch of batches) {
      first.process(batch)
      restored.process(batch)
    }
    const { nowMs } = session
    return { hour, nowMs, first: documentsOf(first, nowMs), restored: documentsOf(restored, nowMs) }
  }
  return [
    after('estimated', eventsOf(session, 3 * MINUTE_MS)),
    after('settled', [[settledHour(session.nowMs)], ...eventsOf(session, 2 * MINUTE_MS)]),
  ]
}

/** The venue's record of the hour, which replaces the estimate. */
function settledHour(nowMs: number): MarketEvent {
  const row = { coin: 'BTC', timeMs: BOUNDARY_MS + FUNDING_STEP_MS, rateHourly: 3e-5 }
  const rows = [{ ...row, premium: 2e-4, isSettled: true }]
  return {
    kind: 'funding-history',
    coin: 'BTC',
    rows,
    timeExchangeMs: nowMs,
    timeReceivedMs: nowMs,
  }
}

function documentsOf(processor: Processor, nowMs: number): Documents {
  const documents = new Map<string, Document>()
  for (let phase = 0; phase < PUBLISHED_WITHIN * PUBLISH_PHASES; phase += 1)
    for (const document of processor.publish(nowMs)) documents.set(document.key, document)
  return documents
}

function documentIn(documents: Documents, id: string): Document {
  const document = documents.get(documentKey(id, 'BTC'))
  if (document === undefined) throw new Error(`${id} published nothing`)
  return document
}

function processorOf(tape: readonly Batch[]): Processor {
  const processor = new Processor(documentKinds, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return processor
}

function marketDocumentOf(id: string, tape: readonly Batch[], nowMs: number): Document {
  const analysis = analyses.market.find(({ contract }) => contract.id === id)
  if (analysis === undefined) throw new Error(`no analysis ${id}`)
  const { gathered, rendering } = processorOf(tape).gather(id, nowMs)
  return analysis.render(gathered, rendering)
}

function openBar() {
  const last = wave('15m', 1008).at(-1)
  if (last === undefined) throw new Error('the tape has bars')
  const bar = { ...last, openTimeMs: BOUNDARY_MS, open: last.close }
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  return { kind: 'candle' as const, coin: 'BTC', timeframe: '15m' as const, bar, ...stamp }
}

function documentOf(id: string, tape: readonly Batch[], nowMs = NOW_MS): Document {
  return publishAll(processorOf(tape), id, nowMs)
}

function publishAll(processor: Processor, id: string, nowMs = NOW_MS): Document {
  for (let phase = 0; phase < PUBLISHED_WITHIN * PUBLISH_PHASES; phase += 1) {
    for (const document of processor.publish(nowMs))
      if (document.key.startsWith(`${id}/`)) return document
  }
  throw new Error(`${id} published nothing within ${PUBLISHED_WITHIN * PUBLISH_PERIOD_MS} ms`)
}

function publishedKeys(processor: Processor): string[] {
  return Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(NOW_MS)])
    .flat()
    .map(({ key }) => key)
}

/** What an agent reads, without the identity of the rendering. */
function answerOf(document: Document, nowMs = NOW_MS): unknown {
  return Object.entries(viewsOf(document)).map(([view, { kind }]) => {
    if (kind !== 'answer') return [view, kind]
    return [view, withoutMeta(JSON.parse(filled(document, view, nowMs)))]
  })
}

/** Of the answer, and of those that it may be put together of. */
function withoutMeta(body: Readonly<Record<string, unknown>>): unknown {
  const { meta: _, ...others } = body
  return Object.fromEntries(
    Object.entries(others).map(([name, member]) => {
      const isObject = typeof member === 'object' && member !== null && !Array.isArray(member)
      return [name, isObject ? withoutMeta(member as Record<string, unknown>) : member]
    }),
  )
}

function filled(document: Document, view: string, nowMs = NOW_MS): string {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`no answer in view ${view}`)
  return fillDocument(document, answer, {
    nowMs: nowMs + 1_000,
    executionMs: 0.1,
    coinsAvailable: 1,
  }).toString('utf8')
}
