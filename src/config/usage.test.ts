import { expect, test } from 'vitest'
import { ConfigError } from './config-error.ts'
import { unknownVariables } from './usage.ts'

const known = new Set(['PERPSCOPE_PAY_TO', 'PERPSCOPE_PORT', 'PERPSCOPE_ADMIN_PORT'])

test.each(['PERPSCOPE_PAYTO', 'PERPSCOPE_PAY-TO', 'PERPSCOPE_PYA_TO', 'PERPSCOPE_pay_to'])(
  'refuses %s, which resembles a setting',
  (name) => {
    const check = () => unknownVariables([name, 'PERPSCOPE_PORT'], known)
    expect(check).toThrow(ConfigError)
    expect(check).toThrow(`${name} is not a setting; did you mean PERPSCOPE_PAY_TO?`)
  },
)

test('names all misspelled variables at once', () => {
  const check = () => unknownVariables(['PERPSCOPE_PROT', 'PERPSCOPE_PAYTO'], known)
  expect(check).toThrow(/PERPSCOPE_PROT .*\n.*PERPSCOPE_PAYTO /)
})

test('returns unknown variables that resemble no setting', () => {
  expect(unknownVariables(['PERPSCOPE_PORT', 'PERPSCOPE_SHARDS'], known)).toEqual([
    'PERPSCOPE_SHARDS',
  ])
})
