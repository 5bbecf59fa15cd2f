import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { venueChannels } from './channels.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { decodeMetaAndAssetContexts } from './universe.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12) + 20_000

const [metaReply = ''] = lines('replies.jsonl.gz')
const meta = decodeMetaAndAssetContexts(metaReply, NOW_MS)
if (meta.kind === 'rejected') throw new Error(`the universe was rejected: ${meta.reason}`)
const decoder = new FrameDecoder()
decoder.setUniverse(meta.universe)
const framesByChannel = Map.groupBy(lines('frames.jsonl.gz'), (text) =>
  venueChannels.find(({ name }) => text.startsWith(`{"channel":"${name}"`)),
)
const frames = venueChannels.flatMap((channel) => framesByChannel.get(channel) ?? [])

/** Characters with a meaning in JSON or in a number, and some that never occur. */
const characters = [...'{}[]",:.-+eE0123456789 \\\t\u0000ABtnull\u00e9\u{1f600}']

test.each(venueChannels)('the fixtures have frames of $name', (channel) => {
  const remedy = 'send it from src/simulator/venue and run write-venue-frames.ts'
  expect(
    framesByChannel.has(channel),
    `no frame of \`${channel.name}\` in the fixtures: ${remedy}`,
  ).toBe(true)
})

describe('reading a frame in place', () => {
  test('succeeds for every regular frame of the coin channels', () => {
    const taken = frames.filter((text) => inPlace(text) !== null)
    expect(taken).toHaveLength(frames.length)
    expect(frames.length).toBeGreaterThan(50)
  })

  test('gives the same events as parsing', () => {
    for (const text of frames) expect(inPlace(text)).toEqual(eventsOf(decoder.parse(text, NOW_MS)))
  })

  test.prop(
    [
      fc.constantFrom(...frames),
      fc.array(
        fc.record({
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          remove: fc.nat(3),
          insert: fc.string({ unit: fc.constantFrom(...characters), maxLength: 4 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    ],
    { numRuns: 3_000 },
  )('fails for a mutated frame, or gives the same events as parsing', (frame, edits) => {
    let text = frame
    for (const { at, remove, insert } of edits) {
      const from = Math.floor(at * text.length)
      text = text.slice(0, from) + insert + text.slice(from + remove)
    }
    const read = inPlace(text)
    if (read === null) return
    const parsed = decoder.parse(text, NOW_MS)
    expect(parsed).toEqual({ kind: 'events', events: read, drops: [] })
  })

  test.prop([fc.constantFrom(...frames), fc.double({ min: 0, max: 1, noNaN: true })])(
    'fails for a truncated frame',
    (frame, share) => {
      const text = frame.slice(0, Math.floor(share * (frame.length - 1)))
      expect(inPlace(frame)).not.toBeNull()
      expect(inPlace(text)).toBeNull()
    },
  )

  test('does not confuse characters that share the last byte', () => {
    const book = bookWith('2')
    expect(inPlace(book)).not.toBeNull()
    expect(inPlace(book.replace('"px":"2"', '"px":"\u0132"'))).toBeNull()
    expect(inPlace(book.replace('BTC', 'BT\u0143'))).toBeNull()
  })

  test('leaves an oversized frame to the parser', () => {
    const long = bookWith('2').replace('"n":1', `"n":1,"new":"${'a'.repeat(300_000)}"`)
    expect(inPlace(long)).toBeNull()
    expect(eventsOf(decoder.decode(long, NOW_MS))).toMatchObject([{ kind: 'book', coin: 'BTC' }])
  })

  test('reads best quotes with an empty side', () => {
    const text = JSON.stringify({
      channel: 'bbo',
      data: { coin: 'BTC', time: NOW_MS, bbo: [null, { px: '2', sz: '1', n: 1 }] },
    })
    expect(inPlace(text)).toMatchObject([{ bid: null, ask: { price: 2 } }])
    expect(eventsOf(decoder.parse(text, NOW_MS))).toEqual(inPlace(text))
  })

  test.each([
    ['usual', '[{"px":"1","sz":"1","n":1},{"px":"2","sz":"1","n":1}]', true],
    ['crossed', '[{"px":"2","sz":"1","n":1},{"px":"1","sz":"1","n":1}]', false],
    ['of one side', '[{"px":"2","sz":"1","n":1}]', false],
    ['of three', '[{"px":"1","sz":"1"},{"px":"2","sz":"1"},{"px":"3","sz":"1"}]', false],
    ['without a size', '[{"px":"1","n":1},{"px":"2","sz":"1","n":1}]', false],
  ])('best quotes that are %s', (_, bbo, isRead) => {
    const text = `{"channel":"bbo","data":{"time":${NOW_MS},"coin":"BTC","bbo":${bbo}}}`
    const read = inPlace(text)
    expect(read !== null).toBe(isRead)
    if (read !== null) expect(read).toEqual(eventsOf(decoder.parse(text, NOW_MS)))
  })

  test.each([
    '{"channel":"l2Book","data":{"coin":"BTC","time":@,"levels":[[L,{"px":"3","sz":"1"},[]],"levels":[[L],[]]}}',
    '{"channel":"bbo","data":{"coin":"BTC","time":@,"bbo":[{"":,L],"bbo":[L,{"px":"3","sz":"1"}]}}',
    '{"channel":"bbo","data":{"coin":"BTC","time":@,"bbo":[{"px",L],"bbo":[L,{"px":"3","sz":"1"}]}}',
  ])('fails after an unreadable side: %s', (template) => {
    const text = template.replace('@', String(NOW_MS)).replaceAll('L', '{"px":"2","sz":"1"}')
    expect(() => JSON.parse(text)).toThrow()
    expect(inPlace(text)).toBeNull()
  })

  test.prop(
    [
      fc.oneof(
        fc.stringMatching(/^\d{1,9}(\.\d{1,9})?$/),
        fc.double({ min: 1e-6, max: 1e9, noNaN: true }).map((value) => value.toFixed(8)),
        fc.stringMatching(/^-?\d{0,18}\.?\d{0,18}$/),
      ),
    ],
    { numRuns: 5_000 },
  )('reads a decimal as the nearest double, or fails', (decimal) => {
    const text = bookWith(decimal)
    const read = inPlace(text)
    const parsed = eventsOf(decoder.parse(text, NOW_MS))
    if (read !== null) expect(read).toEqual(parsed)
    else expect(/^\d{1,7}(\.\d{1,8})?$/.test(decimal) && Number(decimal) > 0).toBe(false)
  })

  test.each([
    ['in another order', '{"time":@,"levels":[[L],[]],"coin":"BTC"}', true],
    [
      'with a level in another order',
      '{"coin":"BTC","time":@,"levels":[[{"sz":"1","n":1,"px":"2"}],[]]}',
      false,
    ],
    ['with a member that is new', '{"coin":"BTC","time":@,"levels":[[],[]],"new":["a",1]}', true],
    [
      'with a new object',
      '{"coin":"BTC","time":@,"levels":[[],[]],"new":{"a":{},"b":[null]}}',
      true,
    ],
    [
      'with a new object too deep',
      '{"coin":"BTC","time":@,"levels":[[],[]],"new":[[[[[]]]]]}',
      false,
    ],
    ['with a broken object', '{"coin":"BTC","time":@,"levels":[[],[]],"new":{"a"}}', false],
    [
      'with an object that ends as an array',
      '{"coin":"BTC","time":@,"levels":[[],[]],"new":{"a":1]}',
      false,
    ],
    ['with a word that is none', '{"coin":"BTC","time":@,"levels":[[],[]],"new":nul}', false],
    ['given twice', '{"coin":"ETH","coin":"BTC","time":@,"levels":[[],[]]}', true],
    ['with a blank', '{"coin": "BTC","time":@,"levels":[[],[]]}', false],
    ['with an escape', '{"coin":"\\u0042TC","time":@,"levels":[[],[]]}', false],
    ['of a coin that is not listed', '{"coin":"NOPE","time":@,"levels":[[],[]]}', false],
    ['of the far future', '{"coin":"BTC","time":9999999999999,"levels":[[],[]]}', false],
    ['with a crossed book', '{"coin":"BTC","time":@,"levels":[[L],[L]]}', false],
  ])('a frame %s', (_, data, isRead) => {
    const level = '{"px":"2","sz":"1","n":1}'
    const text = `{"channel":"l2Book","data":${data.replace('@', String(NOW_MS)).replaceAll('L]', `${level}]`)}}`
    const read = inPlace(text)
    expect(read !== null).toBe(isRead)
    if (read !== null) expect(read).toEqual(eventsOf(decoder.parse(text, NOW_MS)))
  })
})

describe('the accounts of a trade', () => {
  const buyer = `0x${'0123456789'.repeat(4)}`
  const seller = `0x${'abcdef'.repeat(6)}abcd`

  test('are the same in place and parsed, in lower case', () => {
    const text = tradeWith(JSON.stringify([buyer, seller]))
    expect(inPlace(text)).toMatchObject([{ buyer, seller }])
    expect(eventsOf(decoder.parse(text, NOW_MS))).toMatchObject([{ buyer, seller }])
    const shouted = tradeWith(JSON.stringify([buyer, seller.toUpperCase().replace('0X', '0x')]))
    expect(eventsOf(decoder.decode(shouted, NOW_MS))).toMatchObject([{ buyer, seller }])
  })

  test.each([
    ['absent', undefined],
    ['null', 'null'],
    ['empty', '[]'],
    ['one alone', JSON.stringify([buyer])],
    ['too short', JSON.stringify([buyer, '0x1'])],
    ['too long', JSON.stringify([buyer, `${seller}0`])],
    ['no hexadecimal', JSON.stringify([buyer, `0x${'g'.repeat(40)}`])],
    ['without 0x', JSON.stringify([buyer, `00${'a'.repeat(40)}`])],
    ['numbers', '[1,2]'],
    ['nested', JSON.stringify([[buyer, seller]])],
    ['no array', JSON.stringify(buyer)],
  ])('may be missing: %s', (_, users) => {
    const frame = decoder.decode(tradeWith(users), NOW_MS)
    expect(frame).toMatchObject({ events: [{ kind: 'trade', sizeBase: 3 }], drops: [] })
    const [trade] = frame.kind === 'events' ? frame.events : []
    expect(trade).not.toHaveProperty('buyer')
    expect(trade).not.toHaveProperty('seller')
  })
})

function inPlace(text: string) {
  return decoder.readRows(text, NOW_MS)
}

function tradeWith(users: string | undefined): string {
  const rest = users === undefined ? '' : `,"users":${users}`
  return `{"channel":"trades","data":[{"coin":"BTC","side":"B","px":"2","sz":"3","time":${NOW_MS},"tid":1${rest}}]}`
}

function bookWith(price: string): string {
  return `{"channel":"l2Book","data":{"coin":"BTC","time":${NOW_MS},"levels":[[{"px":"${price}","sz":"1","n":1}],[]]}}`
}

function eventsOf(frame: ReturnType<FrameDecoder['decode']>): unknown {
  return frame.kind === 'events' ? frame.events : frame
}

function lines(file: string): string[] {
  const bytes = readFileSync(join(import.meta.dirname, 'fixtures', file))
  return gunzipSync(bytes).toString('utf8').trimEnd().split('\n')
}
