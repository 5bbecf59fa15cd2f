import { describe, expect, test } from 'vitest'
import { fillDocument } from '../../api/fill-document.ts'
import type { Document } from '../../domain/document.ts'
import { hasAnswer, viewOf, viewsOf } from '../../domain/document.ts'
import { tailOf } from '../../domain/document-bytes.ts'
import { DocumentBuilder, numberedOutcomes } from './document-builder.ts'

const identity = { key: 'demo/BTC', version: 1, renderedAtMs: 0 } as const
const facts = { inputs: [], coveragePct: 100, warnings: [] }

describe('document builder', () => {
  test('cuts text at slots for values', () => {
    const builder = new DocumentBuilder()
    const body = builder.value({ a: 1, age: builder.slot({ kind: 'execution-ms' }), z: 'ß€' })
    builder.answer('', [body], facts)
    expect(shape(builder.build(identity), '')).toEqual([
      '{"a":1,"age":',
      'execution-ms',
      ',"z":"ß€"}',
    ])
  })

  test('a slot of members stands between the members around it', () => {
    const builder = new DocumentBuilder()
    const body = builder.value({ a: 1, ...builder.memberSlot({ kind: 'freshness' }), z: 2 })
    builder.answer('', [body], facts)
    expect(shape(builder.build(identity), '')).toEqual(['{"a":1,', 'freshness', ',"z":2}'])
  })

  test('a slot that may stay empty brings its own comma', () => {
    const builder = new DocumentBuilder()
    const body = builder.value({ a: 1, ...builder.memberSlot({ kind: 'requested-coin' }), z: 2 })
    builder.answer('', [body], facts)
    expect(shape(builder.build(identity), '')).toEqual(['{"a":1', 'requested-coin', ',"z":2}'])
  })

  test('views share the bytes of a fragment', () => {
    const builder = new DocumentBuilder()
    const [head, left, right] = [builder.text('{'), builder.text('"l":1}'), builder.text('"r":2}')]
    builder.answer('l', [head, left], facts)
    builder.answer('r', [head, right], facts)
    const document = builder.build(identity)
    expect(shape(document, 'l').join('')).toBe('{"l":1}')
    expect(shape(document, 'r').join('')).toBe('{"r":2}')
    expect(document.bytes.length).toBe('{"l":1}"r":2}'.length)
  })

  test('a run joins the fragments between its two, however many there are', () => {
    const builder = new DocumentBuilder()
    const rows = ['a', 'b', 'c'].map((name) =>
      builder.text(`,{"${name}":${builder.slot({ kind: 'age', confirmedAtMs: 1 })}}`),
    )
    const [first, second] = rows
    if (first === undefined || second === undefined) throw new Error('there are three rows')
    const run = builder.run(first, second)
    expect(run).toHaveLength(1)
    builder.answer('two', [builder.text('['), run, builder.text(']')], facts)
    const { parts } = builder.build(identity)
    expect(parts[run[0] ?? -1]).toEqual({ kind: 'run', from: 0, to: first.length + second.length })
  })

  test('numbered views share their parts, and each has its own range of a choice', () => {
    const builder = new DocumentBuilder()
    const [open, close] = [builder.text('{"n":'), builder.text('}')]
    const [choice = []] = builder.choices(tailOf('0123'), [
      { starts: Uint32Array.of(1, 1, 3), ends: Uint32Array.of(2, 3, 4) },
    ])
    const missing = { kind: 'missing-input', input: 'mark' } as const
    const whole = { coveragePct: 100, warnings: [] }
    const outcomes = numberedOutcomes([whole, { ...whole }, missing])
    builder.numbered([open, choice, close], [], outcomes)
    const document = builder.build(identity)
    expect(Object.keys(viewsOf(document))).toEqual(['1', '2', '3'])
    expect(textOf(document, '1')).toBe('{"n":1}')
    expect(textOf(document, '2')).toBe('{"n":12}')
    expect(viewOf(document, '3')).toEqual(missing)
    expect(document.numbered?.outcomes, 'equal outcomes are kept once').toHaveLength(2)
    expect(viewOf(document, '1'), 'what is kept by answer finds it again').toBe(
      viewOf(document, '1'),
    )
    expect(hasAnswer(document)).toBe(true)
  })

  test.each(['0', '4', '-1', '1.5', '', 'two'])(
    'there is no numbered view "%s" of three',
    (key) => {
      const builder = new DocumentBuilder()
      const missing = { kind: 'missing-input', input: 'mark' } as const
      builder.numbered([], [], numberedOutcomes([missing, missing, missing]))
      const document = builder.build(identity)
      expect(viewOf(document, key)).toBeUndefined()
      expect(hasAnswer(document)).toBe(false)
    },
  )

  test('what is written within a component has slots of it, where a slot names one of several', () => {
    const builder = new DocumentBuilder()
    const write = () =>
      builder.value([
        builder.slot({ kind: 'input-age', input: 'book' }),
        builder.slot({ kind: 'freshness' }),
        builder.slot({ kind: 'execution-ms' }),
      ])
    const fragments = [builder.within(1, write), write()]
    builder.answer('', fragments, facts)
    const slots = builder.build(identity).parts.filter(({ kind }) => kind !== 'text')
    expect(slots).toEqual([
      { kind: 'input-age', input: 'book', of: 1 },
      { kind: 'freshness', of: 1 },
      { kind: 'execution-ms' },
      { kind: 'input-age', input: 'book' },
      { kind: 'freshness' },
      { kind: 'execution-ms' },
    ])
  })

  test('settles a view with what was written, or with the reason why nothing was', () => {
    const builder = new DocumentBuilder()
    const fragments = [builder.text('{}')]
    builder.settle('some', { kind: 'written', fragments, facts: 'of no concern here', ...facts })
    builder.settle('none', { kind: 'missing-input', input: 'book' })
    expect(builder.build(identity).views).toEqual({
      some: { kind: 'answer', parts: [0], ...facts },
      none: { kind: 'missing-input', input: 'book' },
    })
  })

  test('owns exactly its bytes, so that crossing a thread copies no more than the document', () => {
    const builder = new DocumentBuilder()
    builder.answer('', [builder.text('{}')], facts)
    expect(builder.build(identity).bytes.buffer.byteLength).toBe(2)
  })
})

function shape(document: Document, view: string): string[] {
  const answer = document.views[view]
  if (answer?.kind !== 'answer') throw new Error('no answer')
  return answer.parts.map((index) => {
    const part = document.parts[index]
    if (part?.kind !== 'text') return part?.kind ?? 'nothing'
    return new TextDecoder().decode(document.bytes.subarray(part.start, part.end))
  })
}

function textOf(document: Document, view: string): string {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`view ${view} has no answer`)
  const facts = { nowMs: 0, executionMs: 0, coinsAvailable: 0 }
  return fillDocument(document, answer, facts).toString()
}
