import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { DelayedDocuments, SAMPLE_DELAY_MS } from './delayed-documents.ts'
import type { LiveVersion } from './live-source.ts'

test('a captured version is rendered once', () => {
  const clock = new ManualClock()
  let rendered = 0
  const newest = (): LiveVersion => ({
    version: '1',
    atMs: clock.nowMs(),
    get body() {
      rendered += 1
      return { answer: '{}' }
    },
  })
  const source = { open: () => ({ kind: 'document', newest }) as const }
  const delayed = new DelayedDocuments(source, { delayed: ['/pulse/BTC'], free: [] }, clock)
  const stop = delayed.start()
  clock.advance(5_000)
  expect(rendered).toBe(1)
  clock.advance(SAMPLE_DELAY_MS)
  stop()
  const opened = delayed.open('/pulse/BTC')
  expect(opened.kind === 'document' && opened.newest()?.body).toEqual({ answer: '{}' })
})
