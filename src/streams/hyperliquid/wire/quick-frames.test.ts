import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { FrameDecoder } from './frame-decoder.ts'
import { readQuickly } from './quick-frames.ts'
import { decodeMetaAndAssetContexts } from './universe.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12) + 20_000
const CHANNELS = ['trades', 'candle', 'l2Book', 'bbo', 'activeAssetCtx']

const [metaReply = ''] = lines('replies.jsonl.gz')
const meta = decodeMetaAndAssetContexts(metaReply, NOW_MS)
if (meta.kind === 'rejected') throw new Error(`the universe was rejected: ${meta.reason}`)
const coins = new Map(
  meta.universe.flatMap((listing) => (listing === null ? [] : [[listing.coin, listing.coin]])),
)
const decoder = new FrameDecoder()
decoder.setUniverse(meta.universe)
const frames = lines('frames.jsonl.gz').filter((text) =>
  CHANNELS.some((channel) => text.startsWith(`{"channel":"${channel}"`)),
)

/** Characters that mean something in JSON or in a number, and some that never occur. */
const characters = [...'{}[]",:.-+eE0123456789 \\\t\u0000ABtnull\u00e9\u{1f600}']

describe('the quick way to read a frame', () => {
  test('takes every usual frame, of all channels of single coins', () => {
    const taken = frames.filter((text) => readQuickly(text, coins, NOW_MS) !== null)
    expect(taken).toHaveLength(frames.length)
    expect(frames.length).toBeGreaterThan(50)
  })

  test('says what the long way says', () => {
    for (const text of frames)
      expect(readQuickly(text, coins, NOW_MS)).toEqual(eventsOf(decoder.decodeSlowly(text, NOW_MS)))
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
  )('of a mutated frame it says nothing, or what the long way says', (frame, edits) => {
    let text = frame
    for (const { at, remove, insert } of edits) {
      const from = Math.floor(at * text.length)
      text = text.slice(0, from) + insert + text.slice(from + remove)
    }
    const quick = readQuickly(text, coins, NOW_MS)
    if (quick === null) return
    const slow = decoder.decodeSlowly(text, NOW_MS)
    expect(slow).toEqual({ kind: 'events', events: quick, drops: [] })
  })

  test.prop([fc.constantFrom(...frames), fc.double({ min: 0, max: 1, noNaN: true })])(
    'says nothing of a truncated frame',
    (frame, share) => {
      const text = frame.slice(0, Math.floor(share * (frame.length - 1)))
      expect(readQuickly(frame, coins, NOW_MS)).not.toBeNull()
      expect(readQuickly(text, coins, NOW_MS)).toBeNull()
    },
  )

  test('does not take a letter for the one whose last byte it shares', () => {
    const book = bookWith('2')
    expect(readQuickly(book, coins, NOW_MS)).not.toBeNull()
    expect(readQuickly(book.replace('"px":"2"', '"px":"\u0132"'), coins, NOW_MS)).toBeNull()
    expect(readQuickly(book.replace('BTC', 'BT\u0143'), coins, NOW_MS)).toBeNull()
  })

  test('leaves a frame that is longer than any usual one to the long way', () => {
    const long = bookWith('2').replace('"n":1', `"n":1,"new":"${'a'.repeat(300_000)}"`)
    expect(readQuickly(long, coins, NOW_MS)).toBeNull()
    expect(eventsOf(decoder.decode(long, NOW_MS))).toMatchObject([{ kind: 'book', coin: 'BTC' }])
  })

  test('names a coin by the string that was given for it', () => {
    const [event] = readQuickly(bookWith('2'), new Map([['BTC', 'bitcoin']]), NOW_MS) ?? []
    expect(event).toMatchObject({ coin: 'bitcoin' })
  })

  test('an empty side of the best quotes is left to the long way', () => {
    const text = JSON.stringify({
      channel: 'bbo',
      data: { coin: 'BTC', time: NOW_MS, bbo: [null, { px: '2', sz: '1', n: 1 }] },
    })
    expect(readQuickly(text, coins, NOW_MS)).toBeNull()
    expect(eventsOf(decoder.decode(text, NOW_MS))).toMatchObject([{ bid: null, ask: { price: 2 } }])
  })

  test.each([
    ['usual', '[{"px":"1","sz":"1","n":1},{"px":"2","sz":"1","n":1}]', true],
    ['crossed', '[{"px":"2","sz":"1","n":1},{"px":"1","sz":"1","n":1}]', false],
    ['of one side', '[{"px":"2","sz":"1","n":1}]', false],
    ['of three', '[{"px":"1","sz":"1"},{"px":"2","sz":"1"},{"px":"3","sz":"1"}]', false],
    ['without a size', '[{"px":"1","n":1},{"px":"2","sz":"1","n":1}]', false],
  ])('best quotes that are %s', (_, bbo, isTaken) => {
    const text = `{"channel":"bbo","data":{"time":${NOW_MS},"coin":"BTC","bbo":${bbo}}}`
    const quick = readQuickly(text, coins, NOW_MS)
    expect(quick !== null).toBe(isTaken)
    if (quick !== null) expect(quick).toEqual(eventsOf(decoder.decodeSlowly(text, NOW_MS)))
  })

  test.each([
    '{"channel":"l2Book","data":{"coin":"BTC","time":@,"levels":[[L,{"px":"3","sz":"1"},[]],"levels":[[L],[]]}}',
    '{"channel":"bbo","data":{"coin":"BTC","time":@,"bbo":[{"":,L],"bbo":[L,{"px":"3","sz":"1"}]}}',
    '{"channel":"bbo","data":{"coin":"BTC","time":@,"bbo":[{"px",L],"bbo":[L,{"px":"3","sz":"1"}]}}',
  ])('does not go on behind a side that it could not read: %s', (template) => {
    const text = template.replace('@', String(NOW_MS)).replaceAll('L', '{"px":"2","sz":"1"}')
    expect(() => JSON.parse(text)).toThrow()
    expect(readQuickly(text, coins, NOW_MS)).toBeNull()
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
  )('reads a decimal as the nearest double, or not at all', (decimal) => {
    const text = bookWith(decimal)
    const quick = readQuickly(text, coins, NOW_MS)
    const slow = eventsOf(decoder.decodeSlowly(text, NOW_MS))
    if (quick !== null) expect(quick).toEqual(slow)
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
  ])('a frame %s', (_, data, isTaken) => {
    const level = '{"px":"2","sz":"1","n":1}'
    const text = `{"channel":"l2Book","data":${data.replace('@', String(NOW_MS)).replaceAll('L]', `${level}]`)}}`
    const quick = readQuickly(text, coins, NOW_MS)
    expect(quick !== null).toBe(isTaken)
    if (quick !== null) expect(quick).toEqual(eventsOf(decoder.decodeSlowly(text, NOW_MS)))
  })
})

describe('the accounts of a trade', () => {
  const buyer = `0x${'0123456789'.repeat(4)}`
  const seller = `0x${'abcdef'.repeat(6)}abcd`

  test('both ways name them, in lower case', () => {
    const text = tradeWith(JSON.stringify([buyer, seller]))
    expect(readQuickly(text, coins, NOW_MS)).toMatchObject([{ buyer, seller }])
    expect(eventsOf(decoder.decodeSlowly(text, NOW_MS))).toMatchObject([{ buyer, seller }])
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
  ])('a trade counts without them: %s', (_, users) => {
    const frame = decoder.decode(tradeWith(users), NOW_MS)
    expect(frame).toMatchObject({ events: [{ kind: 'trade', sizeBase: 3 }], drops: [] })
    const [trade] = frame.kind === 'events' ? frame.events : []
    expect(trade).not.toHaveProperty('buyer')
    expect(trade).not.toHaveProperty('seller')
  })
})

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
