import { describe, expect, test } from 'vitest'
import { viewKeyOf } from '../../../domain/contract.ts'
import { screener } from './screener.ts'

const { contract } = screener

function keyOf(query: string): string {
  const given = new URLSearchParams(query)
  const key = viewKeyOf(contract, (name) => {
    const values = given.getAll(name)
    return values.length > 1 ? null : values[0]
  })
  return typeof key === 'string' ? key : `refused: ${key.name}`
}

describe('parameters of the screener', () => {
  test.each([
    ['', contract.defaultView],
    ['view=full', 'full,50'],
    ['view=COMPACT', 'compact,50'],
    ['top_n=1', 'full,1'],
    ['top_n=100', 'full,100'],
    ['view=compact&top_n=200', 'compact,200'],
    ['top_n=200&view=compact', 'compact,200'],
    ['other=1', 'full,50'],
    ['view=', 'refused: view'],
    ['view=short', 'refused: view'],
    ['view=full&view=full', 'refused: view'],
    ['top_n=101', 'refused: top_n'],
    ['top_n=201&view=compact', 'refused: top_n'],
    ['top_n=0', 'refused: top_n'],
    ['top_n=', 'refused: top_n'],
    ['top_n=-1', 'refused: top_n'],
    ['top_n=1.0', 'refused: top_n'],
    ['top_n=1e1', 'refused: top_n'],
    ['top_n=010', 'refused: top_n'],
    ['top_n= 5', 'refused: top_n'],
    ['top_n=99999999999999999999', 'refused: top_n'],
    ['top_n=5&top_n=5', 'refused: top_n'],
  ])('%j selects %s', (query, key) => {
    expect(keyOf(query)).toBe(key)
  })

  test('a refusal lists the allowed values', () => {
    const topN = contract.viewParameters.find(({ name }) => name === 'top_n')
    expect(topN).toMatchObject({
      problem: 'invalid_parameter',
      allowed: ['1..100 with view=full', '1..200 with view=compact'],
      rule: 'must be a whole number from 1 to 100, with view=compact to 200',
    })
  })
})
