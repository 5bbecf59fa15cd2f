import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, gunzipSync, inflateRawSync } from 'node:zlib'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { FrameDecoder } from './frame-decoder.ts'
import { readAllContexts, readMarks } from './market-channels.ts'
import type { Universe } from './universe.ts'
import { decodeMetaAndAssetContexts } from './universe.ts'

const NOW_MS = Date.UTC(2026, 0, 1, 12) + 20_000
const REAL = join(
  import.meta.dirname,
  '../../../../../shared/data/hl-api-fixtures/nautilus/ws_all_dexs_asset_ctxs.json',
)

const [metaReply = ''] = lines('replies.jsonl.gz')
const meta = decodeMetaAndAssetContexts(metaReply, NOW_MS)
if (meta.kind === 'rejected') throw new Error(`the universe was rejected: ${meta.reason}`)
const { universe } = meta
const decoder = decoderOf(['', universe])
const frames = lines('frames.jsonl.gz')

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

describe('reading allDexsAssetCtxs in place', () => {
  const usual = frames.filter((text) => text.startsWith('{"channel":"allDexsAssetCtxs"'))
  const row = JSON.stringify({
    ...{ funding: '-0.0000125', openInterest: '5228596627.0', prevDayPx: '0.003348' },
    ...{ dayNtlVlm: '2362388.8046617485123', premium: '-0.0041140976', oraclePx: '0.003646' },
    ...{ markPx: '0.003645', midPx: '0.003631', impactPxs: ['0.00363', '0.003631'] },
    ...{ dayBaseVlm: '679360753.0' },
  })
  const small = listings('BTC', 'ETH')
  const ofDexes = (...dexes: readonly string[]) =>
    `{"channel":"allDexsAssetCtxs","data":{"ctxs":[${dexes.join()}]}}`

  test('succeeds for every regular frame and gives the same events as parsing', () => {
    expect(usual.length).toBeGreaterThan(1)
    for (const text of usual) {
      const read = readAllContexts(text, listed([['', universe]]))
      expect(read).not.toBeNull()
      expect(decoder.parse(text, NOW_MS)).toEqual(contexts(read))
    }
  })

  test.skipIf(!existsSync(REAL))('reads a frame of the real venue', () => {
    const text = JSON.stringify(JSON.parse(readFileSync(REAL, 'utf8')))
    const rows: readonly (readonly [string, readonly unknown[]])[] = JSON.parse(text).data.ctxs
    const universes = rows.map(([dex, rows]) => [dex, listings(...rows.map(nameOf(dex)))] as const)
    const read = readAllContexts(text, listed(universes))
    expect(read).not.toBeNull()
    expect(decoderOf(...universes).parse(text, NOW_MS)).toEqual(contexts(read))
  })

  property.prop([fc.nat(2), edits], { numRuns: 1_000 })(
    'fails for a mutated frame, or gives the same events as parsing',
    (spare, changes) => {
      const rows = Array.from({ length: small.length + (spare === 0 ? 1 : 0) }, () => row)
      const text = mutated(ofDexes(`["",[${rows.join()}]]`), changes)
      const read = readAllContexts(text, listed([['', small]]))
      if (read === null) return
      expect(decoderOf(['', small]).parse(text, NOW_MS)).toEqual(contexts(read))
    },
  )

  test.each([
    ['of a coin that is not listed', `["",[${row},${row}]],["new",[{"a":null},{}]]`, true],
    ['in the order in which they were asked for', `["b",[${row}]],["",[${row},${row}]]`, true],
    ['without a followed dex', `["new",[${row}]]`, false],
    ['given twice', `["",[${row},${row}]],["",[${row},${row}]]`, false],
    ['with a row too few', `["",[${row}]]`, false],
    ['with a row too many', `["",[${row},${row},${row}]]`, false],
    ['with a member that is new', `["",[${row},${row.replace('{', '{"new":1,')}]]`, true],
    ['with a row that is null', `["",[${row},null]]`, false],
    ['without a price', `["",[${row},${row.replace('"0.003645"', 'null')}]]`, false],
    ['with a rate beyond the cap', `["",[${row},${row.replace('-0.0000125', '1.5')}]]`, false],
  ])('a frame %s', (_, dexes, isRead) => {
    const universes: (readonly [string, Universe])[] = [['', small]]
    if (dexes.startsWith('["b"')) universes.push(['b', listings('b:GOLD')])
    const text = ofDexes(dexes)
    const read = readAllContexts(text, listed(universes))
    expect(read !== null).toBe(isRead)
    if (read !== null) expect(decoderOf(...universes).parse(text, NOW_MS)).toEqual(contexts(read))
  })

  test('skips the place of an unreadable listing', () => {
    const text = ofDexes(`["",[${row},null,${row}]]`)
    const [btc = null, eth = null] = small
    const read = readAllContexts(text, listed([['', [btc, null, eth]]]))
    expect(read).toMatchObject([{ coin: 'BTC' }, { coin: 'ETH' }])
  })

  test('absent figures are null', () => {
    const silent = JSON.stringify({
      ...JSON.parse(row),
      ...{ premium: null, midPx: null, impactPxs: null, prevDayPx: null },
    })
    const read = readAllContexts(ofDexes(`["",[${row},${silent}]]`), listed([['', small]]))
    expect(read).toMatchObject([
      { fundingRateHourly: -0.0000125, dayNotional: 2362388.8046617485, impactBid: 0.00363 },
      {
        ...{ premium: null, midPrice: null, impactBid: null, impactAsk: null },
        ...{ prevDayPrice: null, markPrice: 0.003645 },
      },
    ])
  })
})

describe('reading fastAssetCtxs in place', () => {
  const usual = frames.filter((text) => text.startsWith('{"channel":"fastAssetCtxs"'))

  test('succeeds for every regular frame and gives the same events as parsing', () => {
    expect(usual.length).toBeGreaterThan(10)
    for (const text of usual) {
      const read = readMarks(text, listed([['', universe]]))
      expect(read).not.toBeNull()
      expect(decoder.parse(text, NOW_MS)).toEqual(marks(read))
    }
  })

  property.prop([fc.constantFrom(...usual.slice(1, 6)), edits], { numRuns: 500 })(
    'fails for mutated marks, or gives the same events as parsing',
    (frame, changes) => {
      const json = mutated(inflated(frame), changes)
      const text = deflated(json)
      const read = readMarks(text, listed([['', universe]]))
      if (read !== null) expect(decoder.parse(text, NOW_MS)).toEqual(marks(read))
    },
  )

  property.prop([fc.constantFrom(...usual.slice(1, 6)), edits], { numRuns: 500 })(
    'fails for a mutated frame, or gives the same events as parsing',
    (frame, changes) => {
      const text = mutated(frame, changes)
      const read = readMarks(text, listed([['', universe]]))
      if (read !== null) expect(decoder.parse(text, NOW_MS)).toEqual(marks(read))
    },
  )

  test.each([
    ['of a spot pair as well', '{"@107":{"midPx":"2"},"BTC":{"midPx":"1"}}', true],
    ['of a dex that is not followed', '{"xyz:GOLD":{"midPx":"2"},"BTC":{"midPx":"1"}}', true],
    ['with a member that is new', '{"BTC":{"new":[1],"markPx":"3","midPx":null}}', true],
    ['of a perpetual that is not listed', '{"NEW":{"midPx":"2"},"BTC":{"midPx":"1"}}', false],
    ['given twice', '{"BTC":{"midPx":"2"},"ETH":{"midPx":"1"},"BTC":{"midPx":"3"}}', false],
    ['without either price', '{"BTC":{}}', false],
    ['with a mark of null', '{"BTC":{"markPx":null,"midPx":"1"}}', false],
    ['with a price of nothing', '{"BTC":{"markPx":"0.0"}}', false],
    ['of nothing', '{}', false],
    ['that goes on', '{"BTC":{"midPx":"1"}} ', false],
  ])('marks %s', (_, json, isRead) => {
    const text = deflated(json)
    const read = readMarks(text, listed([['', universe]]))
    expect(read !== null).toBe(isRead)
    if (read !== null) expect(decoder.parse(text, NOW_MS)).toEqual(marks(read))
  })

  test('leaves integer names to the parser, which reorders them', () => {
    const withInteger = listed([['', [...universe, ...listings('42')]]])
    expect(readMarks(deflated('{"BTC":{"midPx":"1"}}'), withInteger)).toHaveLength(1)
    const text = deflated('{"BTC":{"midPx":"1"},"42":{"midPx":"2"}}')
    expect(readMarks(text, withInteger)).toBeNull()
  })
})

function contexts(events: unknown): unknown {
  return { kind: 'events', events, drops: [], channel: 'allDexsAssetCtxs' }
}

function marks(events: unknown): unknown {
  return { kind: 'events', events, drops: [], channel: 'fastAssetCtxs' }
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

function inflated(frame: string): string {
  const { data } = JSON.parse(frame)
  return inflateRawSync(Buffer.from(data, 'base64')).toString()
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

function listed(universes: readonly (readonly [string, Universe])[]) {
  const names = universes.flatMap(([, rows]) => rows.flatMap((row) => row?.coin ?? []))
  return {
    coins: new Map(names.map((name) => [name, name])),
    universes: new Map(universes),
    timeReceivedMs: NOW_MS,
  }
}

function decoderOf(...universes: readonly (readonly [dex: string, universe: Universe])[]) {
  const made = new FrameDecoder()
  for (const [dex, listed] of universes) made.setUniverse(listed, dex)
  return made
}

function lines(file: string): string[] {
  const bytes = readFileSync(join(import.meta.dirname, 'fixtures', file))
  return gunzipSync(bytes).toString('utf8').trimEnd().split('\n')
}
