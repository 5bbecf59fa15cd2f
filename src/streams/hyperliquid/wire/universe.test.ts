import { describe, expect, test } from 'vitest'
import { LISTINGS_MAX } from '../../../domain/listing.ts'
import type { Universe } from './universe.ts'
import { decodeMeta, decodeMetaAndAssetContexts } from './universe.ts'

const RECEIVED_MS = Date.UTC(2026, 4, 30, 12)

describe('a reply of the universe', () => {
  test('a listing that cannot be read keeps its place', () => {
    const universe = [
      { name: 'BTC', szDecimals: 5, maxLeverage: 40 },
      { name: '@107', szDecimals: 2, maxLeverage: 3 },
      { name: 'OLD', szDecimals: 1, maxLeverage: 3, isDelisted: true },
      { name: 'BTC', szDecimals: 5, maxLeverage: 40 },
    ]
    expect(decodeMeta(JSON.stringify({ universe }))).toEqual({
      kind: 'meta',
      universe: [
        expect.objectContaining({ coin: 'BTC', sizeDecimals: 5, maxLeverage: 40 }),
        null,
        expect.objectContaining({ coin: 'OLD', sizeDecimals: 1, isDelisted: true }),
        null,
      ],
      drops: [
        expect.objectContaining({ reason: 'bad_listing' }),
        expect.objectContaining({ reason: 'bad_listing' }),
      ],
    })
  })

  describe('of what was told before', () => {
    const tables = [
      [
        56,
        {
          marginTiers: [
            { lowerBound: '0.0', maxLeverage: 40 },
            { lowerBound: '150000000.0', maxLeverage: 20 },
          ],
        },
      ],
    ]
    const btc = { name: 'BTC', szDecimals: 5, maxLeverage: 40, marginTableId: 56 }
    const sol = { name: 'SOL', szDecimals: 2, maxLeverage: 20 }
    const meta = (universe: readonly object[], marginTables: unknown = tables) =>
      JSON.stringify({ universe, marginTables })
    const listed = (body: string, known?: Universe) => {
      const reply = decodeMeta(body, '', known)
      return reply.kind === 'meta' ? reply.universe : []
    }
    const known = listed(meta([btc, sol]))

    test.each([
      ['sizes', { ...sol, szDecimals: '2' }],
      ['leverage', { ...sol, maxLeverage: -20 }],
      ['name', { ...sol, name: 'S OL' }],
    ])('a listing stays as it was where its %s cannot be read', (_, broken) => {
      expect(known[1]).toMatchObject({ coin: 'SOL' })
      expect(listed(meta([btc, broken]), known)).toEqual(known)
    })

    test.each([
      ['one table', [[56, { marginTiers: [{ lowerBound: '0.0', maxLeverage: 'x' }] }]]],
      ['all tables', null],
      [
        'which of two tables of one id is meant',
        [...tables, [56, { marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }] }]],
      ],
    ])('its tiers stay as they were where %s cannot be read', (_, broken) => {
      expect(listed(meta([btc, sol], broken), known)).toEqual(known)
      expect(
        listed(meta([btc, sol], []), known)[0]?.marginTiers,
        'a table that is gone',
      ).toHaveLength(1)
    })

    test('a name that moved is not listed twice', () => {
      const moved = listed(meta([sol, { ...btc, szDecimals: 'x' }]), known)
      expect(moved.map((row) => row?.coin)).toEqual(['SOL', undefined])
    })
  })

  test('a listing has the margin tiers of the table that it names, else a single one', () => {
    const tiers = (...rows: [string, number][]) => ({
      marginTiers: rows.map(([lowerBound, maxLeverage]) => ({ lowerBound, maxLeverage })),
    })
    const reply = decodeMeta(
      JSON.stringify({
        universe: [
          { name: 'BTC', szDecimals: 5, maxLeverage: 40, marginTableId: 56 },
          { name: 'ATOM', szDecimals: 2, maxLeverage: 5, marginTableId: 5 },
          { name: 'ODD', szDecimals: 2, maxLeverage: 5, marginTableId: 56 },
          { name: 'NONE', szDecimals: 2, maxLeverage: 10, marginTableId: 57 },
        ],
        marginTables: [
          [56, tiers(['0.0', 40], ['150000000.0', 20])],
          [57, tiers(['0.0', 10], ['5.0', 20])],
        ],
      }),
    )
    const found = reply.kind === 'meta' ? reply.universe.map((row) => row?.marginTiers) : []
    expect(found).toEqual([
      [
        { lowerBoundUsd: 0, maxLeverage: 40 },
        { lowerBoundUsd: 150_000_000, maxLeverage: 20 },
      ],
      [{ lowerBoundUsd: 0, maxLeverage: 5 }],
      [{ lowerBoundUsd: 0, maxLeverage: 5 }],
      [{ lowerBoundUsd: 0, maxLeverage: 10 }],
    ])
    expect(reply, 'leverage rises with size in none of them').toMatchObject({
      drops: [expect.objectContaining({ reason: 'bad_margin_table' })],
    })
  })

  test('a universe longer than any that can be is refused as a whole', () => {
    const meta = (length: number) => ({
      universe: Array.from({ length }, (_, index) => ({
        name: `C${index}`,
        szDecimals: 1,
        maxLeverage: 3,
      })),
    })
    const refusal = { kind: 'rejected', reason: 'universe_length' }
    const tooLong = meta(LISTINGS_MAX + 1)
    expect(decodeMeta(JSON.stringify(tooLong))).toEqual(refusal)
    expect(decodeMetaAndAssetContexts(JSON.stringify([tooLong, []]), RECEIVED_MS)).toEqual(refusal)
    const longest = decodeMeta(JSON.stringify(meta(LISTINGS_MAX)))
    expect(longest).toMatchObject({ kind: 'meta', drops: [] })
  })

  test.each(['null', '[]', '{"universe":[]}', '{"universe":[1]}', 'x'])('%s is no meta', (body) => {
    expect(decodeMeta(body).kind).toBe('rejected')
    expect(decodeMetaAndAssetContexts(body, RECEIVED_MS).kind).toBe('rejected')
  })
})
