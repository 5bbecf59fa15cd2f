import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { contracts } from '../../compute/analyses/registry.ts'
import { nullable, oneOf } from '../../compute/render/answer-schema.ts'
import { publishedSchema } from './published-schema.ts'

describe('a published schema', () => {
  test('lists the values of an enum', () => {
    expect(publishedSchema(oneOf(['up', 'down'], 'Where to.'))).toEqual({
      type: 'string',
      enum: ['up', 'down'],
      description: 'Where to.',
    })
  })

  test('marks nullable values and keeps their bounds', () => {
    expect(publishedSchema(nullable(Type.Number({ minimum: 0 })))).toEqual({
      type: ['number', 'null'],
      minimum: 0,
    })
    expect(publishedSchema(nullable(oneOf(['a', 'b'])))).toEqual({
      type: ['string', 'null'],
      enum: ['a', 'b', null],
    })
  })

  test('keeps nullable objects as unions', () => {
    const schema = publishedSchema(nullable(Type.Object({ n: Type.Integer() })))
    expect(schema.anyOf?.[1]).toEqual({ type: 'null' })
  })

  test('writes tuples and maps as JSON Schema 2020-12', () => {
    expect(publishedSchema(Type.Tuple([Type.String(), Type.Number()]))).toMatchObject({
      prefixItems: [{ type: 'string' }, { type: 'number' }],
      items: false,
    })
    expect(publishedSchema(Type.Record(Type.String(), Type.Boolean()))).toMatchObject({
      additionalProperties: { type: 'boolean' },
    })
  })

  test.each([
    ['spread_bps', '', 'basis points'],
    ['notional_usd', '', 'USD'],
    ['data_age_seconds', '', 'seconds'],
    ['atr_pct', '', 'percent'],
    ['position_pct', '', 'fraction'],
    ['execution_ms', '', 'milliseconds'],
    ['lookback_hours', '', 'hours'],
    ['ema_20', 'USD.', 'USD'],
    ['as_of', 'Unix seconds.', 'Unix seconds'],
    ['records', 'Number of rows.', 'count'],
  ])('says the unit of %s (%s)', (name, description, unit) => {
    const schema = publishedSchema(Type.Object({ [name]: Type.Number({ description }) }))
    expect(schema.properties?.[name]?.['x-unit']).toBe(unit)
  })

  test('gives a number without a unit none', () => {
    const schema = publishedSchema(Type.Object({ score: Type.Number({ description: '0 to 1.' }) }))
    expect(schema.properties?.['score']).not.toHaveProperty('x-unit')
  })

  test('holds no keyword of older drafts', () => {
    const text = JSON.stringify(contracts.map(({ document }) => publishedSchema(document)))
    expect(text).not.toMatch(/"(patternProperties|additionalItems|\$id|~\w+)"/)
  })
})
