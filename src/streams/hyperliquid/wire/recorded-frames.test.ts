import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../../domain/event.ts'
import { decodeCandleSnapshot } from './candles.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { decodeMetaAndAssetContexts } from './universe.ts'

/** Twenty seconds on every channel, recorded from the simulated venue: see `fixtures/README.md`. */
const START_MS = Date.UTC(2026, 0, 1, 12)
const RECEIVED_MS = START_MS + 20_000
const [metaReply = '', candleReply = ''] = lines('replies.jsonl.gz')
const frames = lines('frames.jsonl.gz')

describe('a recorded conversation', () => {
  const meta = decodeMetaAndAssetContexts(metaReply, RECEIVED_MS)
  if (meta.kind === 'rejected') throw new Error(`the universe was rejected: ${meta.reason}`)
  const decoder = new FrameDecoder()
  decoder.setUniverse(meta.universe)
  const decoded = frames.map((frame) => decoder.decode(frame, RECEIVED_MS))
  const events = decoded.flatMap((frame) => (frame.kind === 'events' ? frame.events : []))

  test('begins with a universe and the figures of every coin', () => {
    expect(meta.drops).toEqual([])
    expect(meta.universe.length).toBeGreaterThan(180)
    expect(meta.contexts).toHaveLength(meta.universe.length)
  })

  test('is understood to the last frame, and nothing in it is dropped', () => {
    const lost = decoded.filter(
      (frame) =>
        frame.kind === 'rejected' ||
        frame.kind === 'refused' ||
        (frame.kind === 'events' && frame.drops.length > 0),
    )
    expect(lost).toEqual([])
  })

  test('holds every kind of event, of coins with a prefix too', () => {
    const seen = new Set(events.map((event) => event.kind))
    const expected: MarketEvent['kind'][] = [
      'trade',
      'candle',
      'book',
      'top-of-book',
      'context',
      'mark',
    ]
    expect(expected.filter((kind) => !seen.has(kind))).toEqual([])
    expect(events.some((event) => 'coin' in event && event.coin === 'kPEPE')).toBe(true)
  })

  test('carries both clocks on every event, the venue behind us', () => {
    for (const event of events) {
      expect(event.timeReceivedMs).toBe(RECEIVED_MS)
      expect(event.timeExchangeMs).toBeLessThanOrEqual(RECEIVED_MS)
      expect(event.timeExchangeMs).toBeGreaterThan(START_MS - 3_600_000)
    }
  })

  test('has candles without a hole', () => {
    const fromMs = START_MS - 90_000_000
    const series = { coin: 'kPEPE', timeframe: '15m', fromMs } as const
    const reply = decodeCandleSnapshot(candleReply, series, RECEIVED_MS)
    if (reply.kind === 'rejected') throw new Error(`the candles were rejected: ${reply.reason}`)
    expect(reply.drops).toEqual([])
    const steps = reply.bars.slice(1).map((bar, at) => {
      return bar.openTimeMs - (reply.bars[at]?.openTimeMs ?? 0)
    })
    expect(new Set(steps)).toEqual(new Set([900_000]))
  })
})

function lines(file: string): string[] {
  const bytes = readFileSync(join(import.meta.dirname, 'fixtures', file))
  return gunzipSync(bytes).toString('utf8').trimEnd().split('\n')
}
