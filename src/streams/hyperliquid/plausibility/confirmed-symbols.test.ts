import { describe, expect, test } from 'vitest'
import { ConfirmedSymbols } from './confirmed-symbols.ts'

const sureOf = (names: ConfirmedSymbols, all: readonly string[]) =>
  all.filter((name) => names.isSure(name))

describe('a name is sure', () => {
  test('where its dex tells it first of all', () => {
    const names = new ConfirmedSymbols([])
    expect(names.told('', ['BTC', 'ETH'])).toBe(true)
    expect(sureOf(names, ['BTC', 'ETH', 'SOL'])).toEqual(['BTC', 'ETH'])
    expect(names.hasUnsure('')).toBe(false)
  })

  test('later only when it is told twice in a row', () => {
    const names = new ConfirmedSymbols([])
    names.told('', ['BTC'])
    expect(names.told('', ['BTC', 'NEV'])).toBe(false)
    expect(names.hasUnsure(''), 'so it is asked once more').toBe(true)
    expect(names.told('', ['BTC', 'NEW'])).toBe(false)
    expect(names.told('', ['BTC', 'NEW'])).toBe(true)
    expect(sureOf(names, ['BTC', 'NEV', 'NEW'])).toEqual(['BTC', 'NEW'])
    expect(names.hasUnsure('')).toBe(false)
  })

  test('where the engine knew it, and of a dex that it knew none else at first', () => {
    const names = new ConfirmedSymbols(['BTC', 'xyz:A'])
    names.told('', ['BTC', 'ETH'])
    names.told('xyz', ['xyz:A', 'xyz:B'])
    names.told('new', ['new:A'])
    const all = ['BTC', 'ETH', 'xyz:A', 'xyz:B', 'new:A']
    expect(sureOf(names, all)).toEqual(['BTC', 'xyz:A', 'new:A'])
  })

  test('no longer when it is not told any more', () => {
    const names = new ConfirmedSymbols(['BTC', 'ETH'])
    names.told('', ['BTC', 'ETH'])
    expect(names.told('', ['BTC'])).toBe(true)
    expect(sureOf(names, ['BTC', 'ETH'])).toEqual(['BTC'])
    expect(names.told('', ['BTC'])).toBe(false)
  })
})
