import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Document } from '../domain/document.ts'
import { tailOf } from '../domain/document-bytes.ts'
import type { Recorded } from './recording.ts'
import { documentCrc, recorderOf, restoredCheckpoint } from './recording.ts'

const NOW_MS = Date.UTC(2026, 0, 1)

describe('the recorded start', () => {
  const numbers = fc.array(fc.oneof(fc.double(), fc.constantFrom(Number.NaN, -0, 1e-308)))
  const coins = fc.array(fc.tuple(fc.string(), numbers))

  test.prop([coins])('gives the checkpoint back bit for bit, through JSON', (saved) => {
    const checkpoint: Checkpoint = {
      version: 7_000_000_000_000_000,
      listings: [
        {
          coin: 'kPEPE',
          sizeDecimals: 0,
          maxLeverage: 10,
          marginTiers: [
            { lowerBoundUsd: 0, maxLeverage: 10 },
            { lowerBoundUsd: 20_000_000, maxLeverage: 5 },
          ],
          isDelisted: false,
        },
      ],
      coins: new Map(saved.map(([coin, state]) => [coin, Float64Array.from(state)])),
    }
    const { entry } = recordedStart(checkpoint)
    if (entry.kind !== 'start' || entry.checkpoint === null) throw new Error('no checkpoint')
    const restored = restoredCheckpoint(entry.checkpoint)
    expect(restored).toEqual(checkpoint)
    expect([...restored.coins.keys()], 'in order').toEqual([...checkpoint.coins.keys()])
  })

  test('says that there was none', () => {
    expect(recordedStart(null)).toEqual({
      atMs: NOW_MS,
      entry: { kind: 'start', version: '1.0.0', sockets: 4, checkpoint: null },
    })
  })

  function recordedStart(checkpoint: Checkpoint | null): Recorded {
    const lines: string[] = []
    const recorder = recorderOf((recorded) => lines.push(JSON.stringify(recorded)))
    recorder.started({ version: '1.0.0', sockets: 4, checkpoint }, NOW_MS)
    return JSON.parse(lines.join()) as Recorded
  }
})

describe('the checksum of a document', () => {
  const document: Document = {
    key: 'pulse/BTC',
    version: 1,
    renderedAtMs: NOW_MS,
    bytes: new TextEncoder().encode('{}'),
    parts: [{ kind: 'text', start: 0, end: 2 }],
    views: {
      '': {
        kind: 'answer',
        parts: [0],
        inputs: [{ name: 'book', confirmedAtMs: NOW_MS, cadenceMs: 6_000, isLoadBearing: true }],
        coveragePct: 100,
        warnings: [],
      },
    },
  }

  test.each<readonly [string, Partial<Document>]>([
    ['key', { key: 'pulse/ETH' }],
    ['version', { version: 2 }],
    ['instant', { renderedAtMs: NOW_MS + 1 }],
    ['bytes', { bytes: new TextEncoder().encode('[]') }],
    ['tail', { tail: tailOf('[]') }],
    ['parts', { parts: [{ kind: 'text', start: 0, end: 1 }] }],
    ['views', { views: { '': { kind: 'missing-input', input: 'book' } } }],
  ])('is another one for another %s', (_what, other) => {
    expect(documentCrc({ ...document })).toBe(documentCrc(document))
    expect(documentCrc({ ...document, ...other })).not.toBe(documentCrc(document))
  })
})
