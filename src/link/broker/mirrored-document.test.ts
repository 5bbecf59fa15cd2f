import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { tailOf } from '../../domain/document-bytes.ts'
import { packDocument } from '../../domain/packed-document.ts'
import { answeredDocument, membersOf } from '../testing/engine-messages.ts'
import { joined } from './broker.ts'
import { carriedFrom, completedDocument } from './carried-document.ts'
import { FrameEncoder } from './frame.ts'

describe('a mirrored document', () => {
  test.prop([fc.string({ maxLength: 40 }), fc.constantFrom(0, 1, 100, 10_000)])(
    'is what the engine rendered, whatever its size',
    (text, repeated) => {
      const rendered = documentOf(text.repeat(repeated))
      expect(membersOf(mirrored(rendered))).toEqual(membersOf(rendered))
    },
  )

  test('has its end behind its bytes', () => {
    const end = tailOf('[2]')
    const rendered = { ...documentOf('x'.repeat(10_000)), tail: end }
    expect(String(Buffer.from(mirrored(rendered).bytes).subarray(-4))).toBe('x[2]')
  })

  test('says which views have an answer', () => {
    const document = mirrored(documentOf('x'.repeat(10_000)))
    expect(document.hasAnswerIn('1h,4h')).toBe(true)
    expect(document.hasAnswerIn('1h')).toBe(false)
  })

  test('has the same views for every reader', () => {
    const document = mirrored(documentOf('x'.repeat(10_000)))
    expect(document.views['1h,4h']).toBe(document.views['1h,4h'])
  })
})

test('a frame is shorter than the repetitive documents that it carries', () => {
  const text = JSON.stringify(Array.from({ length: 500 }, (_, at) => ({ price: at, size: 1 })))
  const documents = [carriedFrom(packDocument(documentOf(text)), undefined)]
  const message = { kind: 'subject', subject: 'BTC', base: null, documents, total: 1 } as const
  const frame = joined(new FrameEncoder().encode({ epoch: 1, sequence: 1, message }))
  expect(frame.length).toBeLessThan(text.length / 3)
})

function documentOf(text: string) {
  return answeredDocument('pulse/BTC', 3, 1_000.5, text)
}

function mirrored(rendered: ReturnType<typeof documentOf>) {
  const carried = carriedFrom(packDocument(rendered), undefined)
  const document = completedDocument(carried, undefined)
  if (document === null) throw new Error('it is complete')
  return document
}
