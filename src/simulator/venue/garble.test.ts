import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { garbled } from './garble.ts'

const book =
  '{"channel":"l2Book","data":{"coin":"BTC","time":1790000000000,"levels":[[{"px":"77600.0","sz":"0.5","n":3}],[{"px":"77601.0","sz":"1.25","n":1}]]}}'
const marks = '{"channel":"fastAssetCtxs","data":"q1YqyUitTFWyUkpMTlGqBQA="}'

describe('a garbled frame', () => {
  propertyTest.prop([fc.constantFrom(book, marks), fc.integer()])(
    'is never the frame, is the same for the same key, and is bounded',
    (text, key) => {
      const once = garbled(text, key)
      expect(once).not.toBe(text)
      expect(garbled(text, key)).toBe(once)
      expect(once.length).toBeLessThan(1_000_000)
    },
  )

  propertyTest.prop([fc.string(), fc.integer()])('can be garbled again', (text, key) => {
    expect(garbled(text, key)).toBeTypeOf('string')
  })

  test('is sometimes cut off, sometimes of other types, sometimes absurd or shifted, sometimes far too long', () => {
    const all = Array.from({ length: 2000 }, (_, key) => garbled(book, key))
    const seen = (isSuch: (text: string) => boolean): boolean => all.some(isSuch)
    expect(seen((text) => text.length < book.length && book.startsWith(text))).toBe(true)
    expect(seen((text) => text.includes('"px":{}') || text.includes('"px":null'))).toBe(true)
    expect(seen((text) => text.includes('"px":NaN'))).toBe(true)
    expect(seen((text) => text.includes('"px":"-1.0"'))).toBe(true)
    expect(seen((text) => text.includes('"px":"776000000.0"'))).toBe(true)
    expect(seen((text) => text.includes('9'.repeat(100_000)))).toBe(true)
    expect(seen((text) => text.split('"px":"77600.0"').length > 1000)).toBe(true)
    expect(
      seen((text) => text.length === book.length && differences(text, book) === 1),
      'one character of another value',
    ).toBe(true)
  })
})

function differences(one: string, other: string): number {
  return [...one].filter((character, at) => character !== other[at]).length
}
