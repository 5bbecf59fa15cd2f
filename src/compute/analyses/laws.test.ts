import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import type { Document } from '../../domain/document.ts'
import type { Batch } from '../../domain/event.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../processor.ts'
import {
  BOUNDARY_MS,
  book,
  context,
  flat,
  NOW_MS,
  universe,
  warmTape,
  wave,
} from '../testing/tape.ts'
import { analyses } from './registry.ts'

/** What holds for every analysis, whatever it measures. */
describe.each(analyses.coin.map((analysis) => ({ id: analysis.contract.id, analysis })))(
  '$id',
  ({ id, analysis }) => {
    const { contract } = analysis

    test.each([
      { market: 'a moving market', tape: warmTape('BTC') },
      { market: 'a market without a single trade', tape: warmTape('BTC', flat) },
      {
        market: 'a one-sided market',
        tape: [
          ...warmTape('BTC'),
          [context('BTC', { midPrice: null, premium: null, impactBid: null, impactAsk: null })],
        ],
      },
    ])('every answer on $market satisfies the published schema', ({ tape }) => {
      const document = documentOf(id, tape)
      const schema = Compile(contract.document)
      let answers = 0
      for (const [view, answer] of Object.entries(document.views)) {
        if (answer.kind !== 'answer') continue
        answers += 1
        const body: unknown = JSON.parse(filled(document, view))
        // A number that went wrong is null in JSON, which the schema bars where it has no meaning.
        expect([...schema.Errors(body)], `view ${view}`).toEqual([])
      }
      expect(answers).toBeGreaterThan(0)
    })

    test('the default view answers once the coin is warm', () => {
      const view = documentOf(id, warmTape('BTC')).views[contract.defaultView]
      expect(view?.kind).toBe('answer')
    })

    test('a coin of which nothing is known has a reason in every view, and no answer', () => {
      const { views } = documentOf(id, [[universe(['BTC'])]])
      expect(Object.keys(views)).toContain(contract.defaultView)
      for (const view of Object.values(views)) expect(view.kind).not.toBe('answer')
    })

    test('the same events give the same bytes, however they were framed', () => {
      const tape = warmTape('BTC')
      const reframed = [tape.flat()]
      expect(documentOf(id, reframed)).toEqual(documentOf(id, tape))
    })

    test('an engine that was restored answers as the one that was not', () => {
      const tape = warmTape('BTC')
      const first = new Processor(analyses, '0.0.0')
      for (const batch of tape) first.process(batch)
      const restored = new Processor(analyses, '0.0.0')
      restored.restore(first.checkpoint(NOW_MS), NOW_MS)
      // What the venue tells again within a second of connecting.
      restored.process([context('BTC'), book('BTC'), openBar()])
      first.process([openBar()])
      expect(answerOf(publishAll(restored, id))).toEqual(answerOf(publishAll(first, id)))
    })

    test('a delisted coin is not rendered', () => {
      const processor = new Processor(analyses, '0.0.0')
      processor.process([universe(['BTC'], ['OLD'])])
      processor.process([context('OLD')])
      expect(publishedKeys(processor)).not.toContain(`${id}/OLD`)
    })

    test('versions rise with every rendering', () => {
      const processor = new Processor(analyses, '0.0.0')
      for (const batch of warmTape('BTC')) processor.process(batch)
      const before = publishAll(processor, id).version
      processor.process([book('BTC'), context('BTC')])
      expect(publishAll(processor, id, NOW_MS + 1).version).toBeGreaterThan(before)
    })
  },
)

function openBar() {
  const last = wave('15m', 1008).at(-1)
  if (last === undefined) throw new Error('the tape has bars')
  const bar = { ...last, openTimeMs: BOUNDARY_MS, open: last.close }
  const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }
  return { kind: 'candle' as const, coin: 'BTC', timeframe: '15m' as const, bar, ...stamp }
}

function documentOf(id: string, tape: readonly Batch[]): Document {
  const processor = new Processor(analyses, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return publishAll(processor, id)
}

function publishAll(processor: Processor, id: string, nowMs = NOW_MS): Document {
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1) {
    for (const document of processor.publish(nowMs))
      if (document.key.startsWith(`${id}/`)) return document
  }
  throw new Error(`${id} published nothing within ${PUBLISH_PERIOD_MS} ms`)
}

function publishedKeys(processor: Processor): string[] {
  return Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(NOW_MS)])
    .flat()
    .map(({ key }) => key)
}

/** What an agent reads, without the identity of the rendering. */
function answerOf(document: Document): unknown {
  return Object.entries(document.views).map(([view, { kind }]) => {
    if (kind !== 'answer') return [view, kind]
    const { meta: _, ...body } = JSON.parse(filled(document, view)) as { meta: unknown }
    return [view, body]
  })
}

function filled(document: Document, view: string): string {
  const answer = document.views[view]
  if (answer?.kind !== 'answer') throw new Error(`no answer in view ${view}`)
  return fillDocument(document, answer, {
    nowMs: NOW_MS + 1_000,
    executionMs: 0.1,
    coinsAvailable: 1,
  }).toString('utf8')
}
