import pino from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { documentKinds } from '../compute/analyses/registry.ts'
import { renderMarket } from '../compute/analyses/render-market.ts'
import type { MarketJob } from '../compute/analysis.ts'
import { Processor } from '../compute/processor.ts'
import { poolEvents, rateEvents } from '../compute/testing/chain-tape.ts'
import { coinHistory } from '../compute/testing/coin-history.ts'
import { NOW_MS, universe, warmTape } from '../compute/testing/tape.ts'
import type { Document } from '../domain/document.ts'
import { MarketDocuments } from './market-documents.ts'

const COINS = ['BTC', ...Array.from({ length: 11 }, (_, index) => `C${index}`)]
const IDS = documentKinds.market.map(({ contract }) => contract.id)
/** Cold, the track record answers that there is none yet; every other document has no answer. */
/** They have an answer before the market has data: nothing was claimed yet. */
const ANSWERED = ['track-record', 'made-claims']
const UNANSWERED = IDS.filter((id) => !ANSWERED.includes(id))

const keysOf = (documents: readonly Document[]) => documents.map(({ key }) => key)
const PERIOD_MS = Math.max(...documentKinds.market.map(({ periodMs }) => periodMs))
/** The grace period after a restore. */
const SETTLED_MS = 30_000

type Order = {
  readonly job: MarketJob
  readonly done: (document: Document) => void
  readonly failed: (cause: unknown) => void
}

describe('documents about the whole market', () => {
  let clock: ManualClock
  let orders: Order[]
  let published: Document[]
  let recorded: string[]

  beforeEach(() => {
    clock = new ManualClock(NOW_MS)
    orders = []
    published = []
    recorded = []
  })

  function documentsOf(processor: Processor): MarketDocuments {
    return new MarketDocuments({
      processor,
      renderer: {
        render: (job, done, failed) => orders.push({ job, done, failed }),
        close: () => {},
      },
      recorder: {
        started: () => {},
        arrived: () => {},
        externalReceived: () => {},
        published: () => {},
        gathered: (analysis) => recorded.push(`gather ${analysis}`),
        rendered: (analysis) => recorded.push(`rendered ${analysis}`),
      },
      nowMs: () => clock.nowMs(),
      publish: (document) => published.push(document),
      log: pino({ level: 'silent' }),
    })
  }

  test('are gathered once a period and published when they come back', () => {
    const documents = documentsOf(warm())
    tickOften(documents)
    tickOften(documents)
    expect(orders.map(({ job }) => job.analysis)).toEqual(IDS)
    finishAll()
    expect(published.map(({ key }) => key)).toEqual(IDS.map((id) => `${id}/*`))
    clock.advance(PERIOD_MS - 1)
    tickOften(documents)
    const early = documentKinds.market.filter(({ periodMs }) => periodMs < PERIOD_MS)
    expect(orders.map(({ job }) => job.analysis).sort()).toEqual(
      early.map(({ contract }) => contract.id).sort(),
    )
    finishAll()
    clock.advance(PERIOD_MS)
    tickOften(documents)
    expect(orders.map(({ job }) => job.analysis).sort()).toEqual(IDS.toSorted())
    expect(recorded.slice(0, 2 * IDS.length).sort()).toEqual(
      IDS.flatMap((id) => [`gather ${id}`, `rendered ${id}`]).sort(),
    )
  })

  test('are gathered one at a time, though all are due at the start', () => {
    const documents = documentsOf(warm())
    for (const [at] of IDS.entries()) {
      documents.tick()
      expect(orders.map(({ job }) => job.analysis)).toEqual(IDS.slice(0, at + 1))
    }
    documents.tick()
    expect(orders).toHaveLength(IDS.length)
  })

  test('that are most overdue are gathered first, also if others are due repeatedly', () => {
    const documents = documentsOf(cold())
    const begun = new Set<string>()
    for (let turn = 0; turn < IDS.length; turn += 1) {
      documents.tick()
      for (const { job, done } of orders.splice(0)) {
        begun.add(job.analysis)
        done(renderMarket(job))
      }
      // Without an answer each is due again by then.
      clock.advance(1_000)
    }
    expect([...begun].sort()).toEqual(IDS.toSorted())
  })

  test('that take long are not gathered again', () => {
    const documents = documentsOf(warm())
    tickOften(documents)
    clock.advance(10 * PERIOD_MS)
    tickOften(documents)
    expect(orders).toHaveLength(IDS.length)
  })

  test('that failed are gathered again in the next period, and nothing is published', () => {
    const documents = documentsOf(warm())
    tickOften(documents)
    for (const { failed } of orders) failed(new Error('the worker died'))
    expect(published).toEqual([])
    clock.advance(PERIOD_MS)
    tickOften(documents)
    expect(orders).toHaveLength(2 * IDS.length)
  })

  test('without an answer are withheld and gathered again soon within the grace period', () => {
    const documents = documentsOf(restored())
    tickOften(documents)
    finishAll()
    expect(keysOf(published), 'the earlier answer stays').toEqual(ANSWERED.map((id) => `${id}/*`))
    published.length = 0
    expect(recorded).toEqual([
      ...IDS.map((id) => `gather ${id}`),
      ...ANSWERED.map((id) => `rendered ${id}`),
    ])
    expectNextAfter(documents, 250)
    clock.advance(SETTLED_MS)
    finishAll()
    expect(keysOf(published), 'then the missing answer is published').toEqual(
      UNANSWERED.map((id) => `${id}/*`),
    )
  })

  test('that lost their answer are published at once, also within the grace period', () => {
    const documents = documentsOf(restored())
    tickOften(documents)
    for (const { job, done } of orders.splice(0)) done(answered(renderMarket(job)))
    expect(published).toHaveLength(IDS.length)
    clock.advance(PERIOD_MS)
    tickOften(documents)
    finishAll()
    expect(published).toHaveLength(2 * IDS.length)
  })

  test('without an answer are gathered again every second without a restore', () => {
    const documents = documentsOf(cold())
    tickOften(documents)
    finishAll()
    expect(published).toHaveLength(IDS.length)
    expectNextAfter(documents, 1_000)
  })

  test('are due at once after the clock was set back', () => {
    const documents = documentsOf(warm())
    tickOften(documents)
    finishAll()
    clock.putBack(3_600_000)
    tickOften(documents)
    expect(orders).toHaveLength(IDS.length)
  })

  test('that are rendered after the end are dropped', () => {
    const documents = documentsOf(warm())
    tickOften(documents)
    documents.stop()
    finishAll()
    expect(published).toEqual([])
  })

  /** As the engine does, a hundred times a second. */
  function tickOften(documents: MarketDocuments): void {
    for (const _ of IDS) documents.tick()
  }

  function expectNextAfter(documents: MarketDocuments, ms: number): void {
    clock.advance(ms - 1)
    tickOften(documents)
    expect(orders).toHaveLength(0)
    clock.advance(1)
    tickOften(documents)
    expect(orders).toHaveLength(UNANSWERED.length)
  }

  function finishAll(): void {
    for (const { job, done } of orders.splice(0)) done(renderMarket(job))
  }
})

function answered(document: Document): Document {
  const answer = { kind: 'answer', parts: [], inputs: [], coveragePct: 100, warnings: [] } as const
  return { ...document, views: { only: answer } }
}

function cold(): Processor {
  return new Processor(documentKinds, '0.0.0')
}

/** From a checkpoint without a coin that anything is known of. */
function restored(): Processor {
  const processor = cold()
  processor.restore(cold().records.checkpoint(NOW_MS), NOW_MS)
  return processor
}

function warm(): Processor {
  const processor = cold()
  processor.process([universe(COINS)])
  for (const [phase, coin] of COINS.entries()) {
    for (const batch of coinHistory(coin, phase)) processor.process(batch)
    for (const batch of warmTape(coin))
      processor.process(batch.filter(({ kind }) => kind !== 'universe'))
  }
  processor.process([...rateEvents(NOW_MS), ...poolEvents(NOW_MS, () => 0)])
  // What changed is taken in share by share.
  for (let turn = 0; turn < 20; turn += 1) for (const _ of processor.publish(NOW_MS));
  return processor
}
