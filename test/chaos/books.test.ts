import { describe, expect, test } from 'vitest'
import type { Charge } from './books.ts'
import { Books } from './books.ts'

const [PAYER, NONCE, TX] = ['0xPayer', '0xNonce', '0xTransaction']
const charge: Charge = { nonce: NONCE, payer: PAYER, transaction: TX, amount: 10n }
const answer = { text: 'bought', transaction: TX }

function books() {
  const opened = new Books(10n)
  opened.signed({ nonce: NONCE, payer: PAYER, purchase: '1' })
  return opened
}

const rulesOf = (opened: Books) => opened.violations.map(({ rule }) => rule)

describe('the books of a chaos run', () => {
  test('find nothing if an answer, its copies and its charge agree', () => {
    const opened = books()
    opened.taken(charge)
    opened.taken(charge)
    opened.given(NONCE, answer)
    opened.given(NONCE, answer)
    opened.closed(new Map([[PAYER, 10n]]), 10n)
    expect(opened.violations).toEqual([])
  })

  test('find a nonce that was charged twice', () => {
    const opened = books()
    opened.taken(charge)
    opened.taken({ ...charge, transaction: '0xOther' })
    expect(rulesOf(opened)).toEqual(['a nonce was charged twice'])
  })

  test('find a purchase that was charged twice', () => {
    const opened = books()
    opened.signed({ nonce: '0xNext', payer: PAYER, purchase: '1' })
    opened.taken(charge)
    opened.taken({ ...charge, nonce: '0xNext', transaction: '0xOther' })
    expect(rulesOf(opened)).toEqual(['a purchase was charged twice'])
  })

  test('find a charge of another amount', () => {
    const opened = books()
    opened.taken({ ...charge, amount: 11n })
    expect(rulesOf(opened)).toEqual(['a charge of another amount'])
  })

  test('find an answer before its charge', () => {
    const opened = books()
    opened.given(NONCE, answer)
    opened.taken(charge)
    expect(rulesOf(opened)).toEqual(['an answer without a charge'])
  })

  test('find a receipt for the transaction of another payment', () => {
    const opened = books()
    opened.taken(charge)
    opened.given(NONCE, { ...answer, transaction: '0xOther' })
    expect(rulesOf(opened)).toEqual(['an answer without a charge'])
  })

  test('find copies with different bytes', () => {
    const opened = books()
    opened.taken(charge)
    opened.given(NONCE, answer)
    opened.given(NONCE, { ...answer, text: 'rendered again' })
    expect(rulesOf(opened)).toEqual(['copies with other bytes'])
  })

  test('find spent and received money without a charge', () => {
    const opened = books()
    opened.taken(charge)
    opened.closed(new Map([[PAYER, 20n]]), 30n)
    expect(opened.violations.map(({ nonce }) => nonce)).toEqual([PAYER, 'service'])
    expect(new Set(rulesOf(opened))).toEqual(new Set(['money that nobody knows of']))
  })
})
