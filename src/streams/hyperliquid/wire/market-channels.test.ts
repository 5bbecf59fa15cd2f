import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { FrameDecoder } from './frame-decoder.ts'
import type { Universe } from './universe.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12) + 20_000
const REAL = join(
  import.meta.dirname,
  '../../../../../shared/data/hl-api-fixtures/nautilus/ws_all_dexs_asset_ctxs.json',
)

/** Characters with a meaning in JSON or in a number, and some that never occur. */
const characters = [...'{}[]",:.-+eE0123456789 \\\t\u0000ABtnull\u00e9\u{1f600}']
const edits = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat(3),
    insert: fc.string({ unit: fc.constantFrom(...characters), maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 3 },
)
const small = listings('BTC', 'ETH')

describe('allDexsAssetCtxs', () => {
  const row = JSON.stringify({
    ...{ funding: '-0.0000125', openInterest: '5228596627.0', prevDayPx: '0.003348' },
    ...{ dayNtlVlm: '2362388.8046617485123', premium: '-0.0041140976', oraclePx: '0.003646' },
    ...{ markPx: '0.003645', midPx: '0.003631', impactPxs: ['0.00363', '0.003631'] },
    ...{ dayBaseVlm: '679360753.0' },
  })
  const ofDexes = (dexes: string) => `{"channel":"allDexsAssetCtxs","data":{"ctxs":[${dexes}]}}`

  test.skipIf(!existsSync(REAL))('of the real venue has a row for every coin', () => {
    const text = JSON.stringify(JSON.parse(readFileSync(REAL, 'utf8')))
    const rows: readonly (readonly [string, readonly unknown[]])[] = JSON.parse(text).data.ctxs
    const universes = rows.map(([dex, rows]) => [dex, listings(...rows.map(nameOf(dex)))] as const)
    expect(decoderOf(...universes).decode(text, NOW_MS)).toMatchObject({ drops: [] })
  })

  property.prop([edits], { numRuns: 1_000 })('with noise gives no other coin', (changes) => {
    const text = mutated(ofDexes(`["",[${row},${row}]]`), changes)
    expect(['BTC', 'ETH']).toEqual(expect.arrayContaining(coinsOf(text, ['', small])))
  })

  test.each([
    ['of a coin that is not listed', `["",[${row},${row}]],["new",[{"a":null},{}]]`, 2],
    ['in the order in which they were asked for', `["b",[${row}]],["",[${row},${row}]]`, 3],
    ['without a followed dex', `["new",[${row}]]`, 0],
    ['given twice', `["",[${row},${row}]],["",[${row},${row}]]`, 0],
    ['with a row too few', `["",[${row}]]`, 0],
    ['with a row too many', `["",[${row},${row},${row}]]`, 0],
    ['with a member that is new', `["",[${row},${row.replace('{', '{"new":1,')}]]`, 2],
    ['with a row that is null', `["",[${row},null]]`, 1],
    ['without a price', `["",[${row},${row.replace('"0.003645"', 'null')}]]`, 1],
    ['with a rate beyond the cap', `["",[${row},${row.replace('-0.0000125', '1.5')}]]`, 1],
  ])('a frame %s', (_, dexes, count) => {
    const universes: (readonly [string, Universe])[] = [['', small]]
    if (dexes.startsWith('["b"')) universes.push(['b', listings('b:GOLD')])
    expect(coinsOf(ofDexes(dexes), ...universes)).toEqual(['BTC', 'ETH', 'b:GOLD'].slice(0, count))
  })

  test('absent figures are null', () => {
    const silent = JSON.stringify({
      ...JSON.parse(row),
      ...{ premium: null, midPx: null, impactPxs: null, prevDayPx: null },
    })
    const text = ofDexes(`["",[${row},${silent}]]`)
    expect(decoderOf(['', small]).decode(text, NOW_MS)).toMatchObject({
      events: [
        { fundingRateHourly: -0.0000125, dayNotional: 2362388.8046617485, impactBid: 0.00363 },
        {
          ...{ premium: null, midPrice: null, impactBid: null, impactAsk: null },
          ...{ prevDayPrice: null, markPrice: 0.003645 },
        },
      ],
    })
  })
})

describe('fastAssetCtxs', () => {
  property.prop([edits], { numRuns: 500 })('with noise gives no other coin', (changes) => {
    const text = deflated(mutated('{"BTC":{"midPx":"2"},"ETH":{"markPx":"1"}}', changes))
    expect(['BTC', 'ETH']).toEqual(expect.arrayContaining(coinsOf(text, ['', small])))
  })

  test.each([
    ['of a spot pair as well', '{"@107":{"midPx":"2"},"BTC":{"midPx":"1"}}', ['BTC']],
    ['of a dex that is not followed', '{"xyz:GOLD":{"midPx":"2"},"BTC":{"midPx":"1"}}', ['BTC']],
    ['with a member that is new', '{"BTC":{"new":[1],"markPx":"3","midPx":null}}', ['BTC']],
    ['of a perpetual that is not listed', '{"NEW":{"midPx":"2"},"BTC":{"midPx":"1"}}', ['BTC']],
    ['without either price', '{"BTC":{}}', []],
    ['with a mark of null', '{"BTC":{"markPx":null,"midPx":"1"}}', ['BTC']],
    ['with a price of nothing', '{"BTC":{"markPx":"0.0"}}', []],
    ['of nothing', '{}', []],
    ['that goes on', '{"BTC":{"midPx":"1"}} ', ['BTC']],
  ])('marks %s', (_, json, coins) => {
    expect(coinsOf(deflated(json), ['', small])).toEqual(coins)
  })
})

function coinsOf(text: string, ...universes: readonly (readonly [string, Universe])[]): unknown[] {
  const frame = decoderOf(...universes).decode(text, NOW_MS)
  return frame.kind === 'events' ? frame.events.map((event) => 'coin' in event && event.coin) : []
}

function mutated(
  text: string,
  changes: readonly { readonly at: number; readonly remove: number; readonly insert: string }[],
): string {
  return changes.reduce((changed, { at, remove, insert }) => {
    const from = Math.floor(at * changed.length)
    return changed.slice(0, from) + insert + changed.slice(from + remove)
  }, text)
}

function deflated(json: string): string {
  return `{"channel":"fastAssetCtxs","data":"${deflateRawSync(json).toString('base64')}"}`
}

function nameOf(dex: string): (row: unknown, place: number) => string {
  return (_, place) => (dex === '' ? `C${place}` : `${dex}:C${place}`)
}

function listings(...names: readonly string[]): Universe {
  return names.map((coin) => ({
    ...{ coin, sizeDecimals: 2, maxLeverage: 10, isDelisted: false },
    marginTiers: [{ lowerBoundUsd: 0, maxLeverage: 10 }],
  }))
}

function decoderOf(...universes: readonly (readonly [dex: string, universe: Universe])[]) {
  const made = new FrameDecoder()
  for (const [dex, listed] of universes) made.setUniverse(listed, dex)
  return made
}
