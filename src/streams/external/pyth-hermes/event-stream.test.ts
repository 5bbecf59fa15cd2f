import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { StreamedEvent } from './event-stream.ts'
import { EventStream } from './event-stream.ts'

const MAX = 100_000

function readAll(pieces: readonly string[], max = MAX): readonly StreamedEvent[] {
  const stream = new EventStream(max)
  return pieces.flatMap((piece) => stream.push(piece))
}

/** A naive parser of the whole text, line by line, by the grammar of the standard. */
function readNaively(text: string): readonly StreamedEvent[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .split('\n')
  const events: StreamedEvent[] = []
  let data: string[] = []
  let type = ''
  // What follows the last line end is no line yet.
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      if (data.length > 0) events.push({ type: type || 'message', data: data.join('\n') })
      data = []
      type = ''
    } else if (/^data(:|$)/.test(line)) data.push(line.slice(5).replace(/^ /, ''))
    else if (/^event(:|$)/.test(line)) type = line.slice(6).replace(/^ /, '')
  }
  return events
}

const fragment = fc.constantFrom(
  'data',
  'data:',
  'data: ',
  'event: error',
  ': keep-alive',
  'id: 7',
  'retry: 3',
  'database: no',
  '{"parsed":[]}',
  'é€',
  ' ',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
)
const body = fc
  .tuple(fc.constantFrom('', '\uFEFF'), fc.array(fragment, { maxLength: 60 }))
  .map(([mark, parts]) => mark + parts.join(''))

describe('server-sent events', () => {
  test.each([
    ['one event', 'data:{"a":1}\n\n', [{ type: 'message', data: '{"a":1}' }]],
    ['one blank after the colon is no data', 'data:  x\n\n', [{ type: 'message', data: ' x' }]],
    [
      'lines of data are joined',
      'data: a\ndata\ndata: b\n\n',
      [{ type: 'message', data: 'a\n\nb' }],
    ],
    [
      'carriage returns end lines',
      'data: a\r\rdata: b\r\n\r\n',
      [
        { type: 'message', data: 'a' },
        { type: 'message', data: 'b' },
      ],
    ],
    [
      'comments are passed over',
      ':\n\n: ping\n\ndata: a\n: in between\n\n',
      [{ type: 'message', data: 'a' }],
    ],
    [
      'a type of its own',
      'event: error\ndata: gone\n\ndata: a\n\n',
      [
        { type: 'error', data: 'gone' },
        { type: 'message', data: 'a' },
      ],
    ],
    [
      'a type without data is nothing',
      'event: error\n\ndata: a\n\n',
      [{ type: 'message', data: 'a' }],
    ],
    [
      'an incomplete event is not emitted',
      'data: a\n\ndata: b\n',
      [{ type: 'message', data: 'a' }],
    ],
  ])('%s', (_, text, expected) => {
    expect(readAll([text])).toEqual(expected)
  })

  test.prop([body, fc.array(fc.nat({ max: 400 }), { maxLength: 30 })])(
    'are the same however the body is cut, and what the grammar says',
    (text, cuts) => {
      const at = [0, ...cuts.filter((cut) => cut < text.length), text.length].toSorted(
        (one, other) => one - other,
      )
      const pieces = at.slice(1).map((end, index) => text.slice(at[index], end))
      expect(pieces.join('')).toBe(text)
      const expected = readNaively(text)
      // A carriage return at the very end may yet be half of a line end, but it has ended the line.
      expect(readAll(pieces)).toEqual(expected)
      expect(readAll([...text])).toEqual(expected)
    },
  )

  test('an event that is too long is dropped and counted, and the next one is read', () => {
    const stream = new EventStream(1_000)
    const pieces = ['data: ', ...Array.from({ length: 50 }, () => 'x'.repeat(100)), '\n\n']
    expect(pieces.flatMap((piece) => stream.push(piece))).toEqual([])
    expect(stream.oversized).toBe(1)
    expect(stream.push('data: a\n\n')).toEqual([{ type: 'message', data: 'a' }])
    expect(stream.oversized).toBe(1)
  })

  test('many short lines of one event count together', () => {
    const stream = new EventStream(1_000)
    for (let line = 0; line < 300; line += 1) expect(stream.push('data: x\n')).toEqual([])
    expect(stream.push('\n')).toEqual([])
    expect(stream.oversized).toBe(1)
  })

  test('comments for ever are no long event', () => {
    const stream = new EventStream(1_000)
    for (let line = 0; line < 1_000; line += 1) stream.push(': keep-alive\n')
    expect(stream.push('data: a\n\n')).toEqual([{ type: 'message', data: 'a' }])
    expect(stream.oversized).toBe(0)
  })
})
