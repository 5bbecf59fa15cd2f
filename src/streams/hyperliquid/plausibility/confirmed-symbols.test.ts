import { describe, expect, test } from 'vitest'
import { ConfirmedSymbols } from './confirmed-symbols.ts'

const confirmedOf = (symbols: ConfirmedSymbols, names: readonly string[]) =>
  names.filter((name) => symbols.isConfirmed(name))

describe('ConfirmedSymbols', () => {
  test('confirms the first universe of a dex', () => {
    const symbols = new ConfirmedSymbols([])
    expect(symbols.update('', ['BTC', 'ETH'])).toBe(true)
    expect(confirmedOf(symbols, ['BTC', 'ETH', 'SOL'])).toEqual(['BTC', 'ETH'])
    expect(symbols.hasUnconfirmed('')).toBe(false)
  })

  test('confirms a later name after two replies in a row', () => {
    const symbols = new ConfirmedSymbols([])
    symbols.update('', ['BTC'])
    expect(symbols.update('', ['BTC', 'NEV'])).toBe(false)
    expect(symbols.hasUnconfirmed(''), 'another request is needed').toBe(true)
    expect(symbols.update('', ['BTC', 'NEW'])).toBe(false)
    expect(symbols.update('', ['BTC', 'NEW'])).toBe(true)
    expect(confirmedOf(symbols, ['BTC', 'NEV', 'NEW'])).toEqual(['BTC', 'NEW'])
    expect(symbols.hasUnconfirmed('')).toBe(false)
  })

  test('confirms names that the engine knew, and the first universe of an unknown dex', () => {
    const symbols = new ConfirmedSymbols(['BTC', 'xyz:A'])
    symbols.update('', ['BTC', 'ETH'])
    symbols.update('xyz', ['xyz:A', 'xyz:B'])
    symbols.update('new', ['new:A'])
    const names = ['BTC', 'ETH', 'xyz:A', 'xyz:B', 'new:A']
    expect(confirmedOf(symbols, names)).toEqual(['BTC', 'xyz:A', 'new:A'])
  })

  test('revokes a name that is no longer listed', () => {
    const symbols = new ConfirmedSymbols(['BTC', 'ETH'])
    symbols.update('', ['BTC', 'ETH'])
    expect(symbols.update('', ['BTC'])).toBe(true)
    expect(confirmedOf(symbols, ['BTC', 'ETH'])).toEqual(['BTC'])
    expect(symbols.update('', ['BTC'])).toBe(false)
  })
})
