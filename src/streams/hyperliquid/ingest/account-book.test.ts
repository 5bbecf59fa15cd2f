import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { Position } from '../wire/account-state.ts'
import { ACCOUNTS_MAX, AccountBook } from './account-book.ts'

const stamp = { timeExchangeMs: 1_000, timeReceivedMs: 2_000 }

describe('what accounts hold, as events', () => {
  test('every position of a reply, at the time at which it was asked', () => {
    const events = new AccountBook().update('0xa', reply(['BTC', -2], ['ETH', 3]), stamp)
    expect(events).toEqual([
      { kind: 'account-position', account: '0xa', ...position('BTC', -2), ...stamp },
      { kind: 'account-position', account: '0xa', ...position('ETH', 3), ...stamp },
    ])
  })

  test('a position that is no longer reported is emitted once as closed', () => {
    const book = new AccountBook()
    book.update('0xa', reply(['BTC', 1], ['ETH', 1]), stamp)
    expect(book.update('0xa', reply(['ETH', 1]), stamp)).toMatchObject([
      { coin: 'ETH', sizeBase: 1 },
      { coin: 'BTC', sizeBase: 0, liquidationPrice: null },
    ])
    expect(book.update('0xa', reply(), stamp)).toMatchObject([{ coin: 'ETH', sizeBase: 0 }])
    expect(book.update('0xa', reply(), stamp)).toEqual([])
  })

  test('a position that could not be read stays as it was reply, and is gone when it is', () => {
    const book = new AccountBook()
    book.update('0xa', reply(['BTC', 1]), stamp)
    expect(book.update('0xa', { positions: [], unread: ['BTC', 'SOL'] }, stamp)).toEqual([])
    expect(book.update('0xa', reply(), stamp)).toMatchObject([{ coin: 'BTC', sizeBase: 0 }])
  })

  test('the account that was heard of longest ago makes room, and holds nothing from then on', () => {
    const book = new AccountBook()
    for (let i = 0; i < ACCOUNTS_MAX; i += 1) book.update(`0x${i}`, reply(['BTC', 1]), stamp)
    book.update('0x0', reply(['BTC', 2]), stamp)
    expect(book.update('0xnew', reply(['BTC', 1]), stamp)).toMatchObject([
      { account: '0xnew', sizeBase: 1 },
      { account: '0x1', coin: 'BTC', sizeBase: 0 },
    ])
  })

  test.prop([
    fc.array(
      fc.tuple(
        fc.constantFrom('0xa', '0xb'),
        fc.uniqueArray(fc.constantFrom('BTC', 'ETH', 'SOL', 'kPEPE')),
      ),
      { maxLength: 20 },
    ),
  ])('whoever adds up the events holds what the last replies said', (replies) => {
    const book = new AccountBook()
    const held = new Map<string, number>()
    const last = new Map<string, readonly string[]>()
    for (const [account, coins] of replies) {
      last.set(account, coins)
      const rows = coins.map((coin): [string, number] => [coin, coin.length])
      for (const event of book.update(account, reply(...rows), stamp)) {
        if (event.sizeBase === 0) held.delete(`${event.account} ${event.coin}`)
        else held.set(`${event.account} ${event.coin}`, event.sizeBase)
      }
    }
    const expected = [...last].flatMap(([account, coins]) =>
      coins.map((coin) => [`${account} ${coin}`, coin.length] as const),
    )
    expect(held).toEqual(new Map(expected))
  })
})

function reply(...rows: readonly (readonly [coin: string, sizeBase: number])[]) {
  return { positions: rows.map(([coin, sizeBase]) => position(coin, sizeBase)), unread: [] }
}

function position(coin: string, sizeBase: number): Position {
  return { coin, sizeBase, entryPrice: 100, leverage: 5, liquidationPrice: 80 }
}
