import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Presented } from './answer-access.ts'
import { credentials, opens } from './answer-access.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const SECRET = 'q'.repeat(22)
const echo = (secret: unknown) => ({ 'answer-access': { info: { secret } } })
const bare: Presented = {
  payment: 'hash',
  extensions: null,
  identifier: null,
  address: '192.0.2.1',
}

function accessOf(first: Partial<Presented>, callerUntilMs = NOW_MS + 1) {
  return { ...credentials({ ...bare, ...first }), callerUntilMs }
}

const isOpened = (first: Partial<Presented>, again: Partial<Presented>, atMs = NOW_MS) =>
  opens(accessOf(first), credentials({ ...bare, ...again }), atMs)

describe('a payment that brought a secret', () => {
  const first = { extensions: echo(SECRET) }

  test('is opened by it from anywhere, at any time', () => {
    const again = { extensions: echo(SECRET), address: '203.0.113.9' }
    expect(isOpened(first, again, NOW_MS + 86_400_000)).toBe(true)
  })

  test.each<[string, Partial<Presented>]>([
    ['nothing, from the same address', {}],
    ['the secret of another quote', { extensions: echo('r'.repeat(22)) }],
    ['a name that it did not have', { identifier: SECRET }],
    ['half of it', { extensions: echo(SECRET.slice(1)) }],
  ])('is not opened by %s', (_what, again) => {
    expect(isOpened(first, again)).toBe(false)
  })
})

test("the buyer's own name for its payment opens it as well", () => {
  const identifier = 'pay_0123456789abcdef'
  expect(isOpened({ identifier }, { identifier, address: '203.0.113.9' })).toBe(true)
  expect(isOpened({ identifier, extensions: echo(SECRET) }, { identifier })).toBe(true)
  expect(isOpened({ identifier }, { identifier: 'pay_fedcba9876543210' })).toBe(false)
})

describe('a payment that brought nothing', () => {
  test('is opened from the same address up to its time', () => {
    expect(isOpened({}, {}, NOW_MS)).toBe(true)
    expect(isOpened({}, {}, NOW_MS + 1)).toBe(false)
  })

  test('is opened from no other address, whatever it shows', () => {
    const elsewhere = { address: '192.0.2.2', extensions: echo(SECRET) }
    expect(isOpened({}, elsewhere)).toBe(false)
  })

  test.each(['', 'short', 7, null, { deep: SECRET }, 'x'.repeat(129)])(
    'counts %j as nothing',
    (secret) => {
      expect(credentials({ ...bare, extensions: echo(secret) }).secrets).toEqual([])
    },
  )
})

property.prop([
  fc.string({ minLength: 22, maxLength: 128 }),
  fc.string({ minLength: 22, maxLength: 128 }),
])('two secrets open each other only where they are the same', (one, other) => {
  expect(isOpened({ extensions: echo(one) }, { extensions: echo(other) })).toBe(one === other)
})

test('what is stored of one payment says nothing about another', () => {
  const extensions = echo(SECRET)
  const one = credentials({ ...bare, extensions })
  const other = credentials({ ...bare, extensions, payment: 'another' })
  expect(one.secrets).not.toEqual(other.secrets)
  expect(one.caller).not.toBe(other.caller)
})
