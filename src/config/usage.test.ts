import { expect, test } from 'vitest'
import { unknownVariables } from './usage.ts'

const known = new Set(['PERPSCOPE_PAY_TO', 'PERPSCOPE_PORT', 'PERPSCOPE_ADMIN_PORT'])

test.each(['PERPSCOPE_PAYTO', 'PERPSCOPE_PAY-TO', 'PERPSCOPE_PYA_TO', 'PERPSCOPE_pay_to'])(
  'refuses %s, which resembles a setting',
  (name) => {
    expect(unknownVariables([name, 'PERPSCOPE_PORT'], known)).toEqual({
      ignored: [],
      problems: [`${name} is not a setting; did you mean PERPSCOPE_PAY_TO?`],
    })
  },
)

test('names all misspelled variables at once', () => {
  const { problems } = unknownVariables(['PERPSCOPE_PROT', 'PERPSCOPE_PAYTO'], known)
  expect(problems).toEqual([
    expect.stringContaining('PERPSCOPE_PROT '),
    expect.stringContaining('PERPSCOPE_PAYTO '),
  ])
})

test('ignores unknown variables that resemble no setting', () => {
  expect(unknownVariables(['PERPSCOPE_PORT', 'PERPSCOPE_SHARDS'], known)).toEqual({
    ignored: ['PERPSCOPE_SHARDS'],
    problems: [],
  })
})
