import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { seededBuilderDexes } from '../market/builder-dexes.ts'
import { seededMarket } from '../market/seeded-market.ts'
import { Dexes } from './dexes.ts'
import { checkCoins, parseFaultScript, readFaultScript, runFaultScript } from './fault-script.ts'

const FILE = 'faults.jsonl'
const stall = '{"at_ms":30000,"kind":"stall","coin":"SOL","duration_ms":60000}'
const drop = '{"at_ms":1000,"kind":"drop-connections","every_ms":5000}'

describe('a script of faults', () => {
  test('is JSON lines or a JSON array, and comes by time', () => {
    const script = parseFaultScript(`${stall}\n\n${drop}\n`, FILE)
    expect(script.map(({ atMs, everyMs, fault }) => ({ atMs, everyMs, fault }))).toEqual([
      { atMs: 1000, everyMs: 5000, fault: { kind: 'drop-connections' } },
      {
        atMs: 30_000,
        everyMs: undefined,
        fault: { kind: 'stall', coin: 'SOL', durationMs: 60_000 },
      },
    ])
    const array = JSON.stringify([JSON.parse(stall), JSON.parse(drop)], null, 2)
    expect(parseFaultScript(array, FILE).map(({ fault }) => fault)).toEqual(
      script.map(({ fault }) => fault),
    )
  })

  test('knows every kind that the documentation shows', () => {
    const page = readFileSync(new URL('../../../docs/faults.md', import.meta.url), 'utf8')
    const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
    const kinds = examples
      .flatMap((example) => parseFaultScript(example, 'faults.md'))
      .map(({ fault }) => fault.kind)
    expect(new Set(kinds).size, 'all seventeen').toBe(17)
  })

  test('reads what each kind needs', () => {
    const lines = [
      '{"at_ms":0,"kind":"stall","coin":"kPEPE","duration_ms":1,"channels":["trades","candle"]}',
      '{"at_ms":1,"kind":"garble-frames","share":0.25,"duration_ms":2}',
      '{"at_ms":2,"kind":"delay-frames","delay_ms":5,"duration_ms":6}',
      '{"at_ms":2,"kind":"half-open","duration_ms":9,"connection":2}',
      '{"at_ms":2,"kind":"drop-connections","code":1000,"connection":0}',
      '{"at_ms":2,"kind":"refuse-subscriptions","how":"error","duration_ms":3}',
      '{"at_ms":3,"kind":"rest-outage","how":"hang","duration_ms":7}',
      '{"at_ms":4,"kind":"list","listing":{"coin":"NEW","size_decimals":1,"max_leverage":3,"price_usd":1.5,"day_notional_usd":1e6}}',
      '{"at_ms":5,"kind":"clock-skew","offset_ms":-5000,"duration_ms":8}',
    ]
    expect(parseFaultScript(lines.join('\n'), FILE).map(({ fault }) => fault)).toEqual([
      { kind: 'stall', coin: 'kPEPE', durationMs: 1, channels: ['trades', 'candle'] },
      { kind: 'garble-frames', share: 0.25, durationMs: 2 },
      { kind: 'delay-frames', delayMs: 5, durationMs: 6 },
      { kind: 'half-open', durationMs: 9, connection: 2 },
      { kind: 'drop-connections', code: 1000, connection: 0 },
      { kind: 'refuse-subscriptions', how: 'error', durationMs: 3 },
      { kind: 'rest-outage', how: 'hang', durationMs: 7 },
      {
        kind: 'list',
        listing: {
          coin: 'NEW',
          sizeDecimals: 1,
          maxLeverage: 3,
          priceUsd: 1.5,
          dayNotionalUsd: 1e6,
        },
      },
      { kind: 'clock-skew', offsetMs: -5000, durationMs: 8 },
    ])
  })

  test.each([
    ['nothing', '', 'faults.jsonl:1: there is no fault in this file'],
    ['another format', `${stall}\nat 5 drop`, ':2: an object was expected, not "a"'],
    [
      'an object that is cut off',
      `${stall}\n${stall.slice(0, -1)}`,
      ':2: this object does not end',
    ],
    ['an object that is not JSON', `${stall}\n\n{at_ms: 5}`, ':3: this is not JSON'],
    [
      'no time',
      '{"kind":"drop-connections"}',
      'at_ms must be a number from 0 to 86400000; it is mi',
    ],
    ['a time as text', '{"at_ms":"5"}', 'at_ms must be a number from 0 to 86400000; it is "5"'],
    [
      'an unknown kind',
      '{"at_ms":5,"kind":"fire"}',
      'kind must be one of drop-connections, refuse-',
    ],
    ['no duration', '{"at_ms":5,"kind":"half-open"}', 'duration_ms must be a number from 1 to'],
    [
      'a share above 1',
      '{"at_ms":5,"kind":"drop-frames","share":2,"duration_ms":5}',
      'share must be a number from 0 to 1; it is 2',
    ],
    [
      'a misspelt member',
      '{"at_ms":5,"kind":"stall","coin":"SOL","duration_ms":5,"chanels":["trades"]}',
      'unknown member "chanels"; allowed here: at_ms, kind, coin, duration_ms, channels, every_ms',
    ],
    [
      'an unknown channel',
      '{"at_ms":5,"kind":"stall","coin":"SOL","duration_ms":5,"channels":["depth"]}',
      'channels must be a list of some of trades, bbo, l2Book, candle, activeAssetCtx',
    ],
    [
      'another code of closing',
      '{"at_ms":5,"kind":"drop-connections","code":1001}',
      'code must be one of 1000, 1006; it is 1001',
    ],
    [
      'half a connection',
      '{"at_ms":5,"kind":"drop-connections","connection":0.5}',
      'connection must be a whole number from 0 to 9; it is 0.5',
    ],
    [
      'one connection where all are refused',
      '{"at_ms":5,"kind":"refuse-connections","duration_ms":5,"connection":1}',
      'unknown member "connection"; allowed here: at_ms, kind, duration_ms, every_ms',
    ],
    [
      'a listing without its price',
      '{"at_ms":5,"kind":"list","listing":{"coin":"N","size_decimals":1,"max_leverage":3}}',
      'listing: price_usd must be a number from 0.000001 to 1000000; it is missing',
    ],
    [
      'a price that its decimals round away',
      '{"at_ms":5,"kind":"list","listing":{"coin":"TINY","size_decimals":5,"max_leverage":3,"price_usd":0.001,"day_notional_usd":1e6}}',
      'faults.jsonl:1: listing: price_usd must be at least 10 where size_decimals is 5',
    ],
    [
      'half a decimal',
      '{"at_ms":5,"kind":"list","listing":{"coin":"N","size_decimals":1.5}}',
      'listing: size_decimals must be a whole number from 0 to 5; it is 1.5',
    ],
    [
      'a repetition within its own duration',
      '{"at_ms":5,"kind":"half-open","duration_ms":5000,"every_ms":4000}',
      'every_ms must be a number from 5000 to 86400000; it is 4000',
    ],
    [
      'a listing again and again',
      '{"at_ms":5,"kind":"delist","coin":"SOL","every_ms":4000}',
      'every_ms makes no sense with delist',
    ],
  ])('with %s is refused by file, line and what is allowed', (_, text, message) => {
    expect(() => parseFaultScript(text, FILE)).toThrow(message)
    expect(() => parseFaultScript(text, FILE)).toThrow(`${FILE}:`)
  })

  test('that cannot be read is named', () => {
    expect(() => readFaultScript('/nowhere/faults.jsonl')).toThrow('/nowhere/faults.jsonl')
  })

  describe('checked against the universe that it begins with', () => {
    const startMs = Date.UTC(2026, 9, 7)
    const options = { seed: 5, startMs }
    const dexes = new Dexes(seededMarket(options), seededBuilderDexes(options), startMs)
    const list = (coin: string): string =>
      `{"at_ms":9,"kind":"list","listing":{"coin":"${coin}","size_decimals":1,"max_leverage":3,"price_usd":1,"day_notional_usd":1e6}}`
    const check = (...lines: string[]): void =>
      checkCoins(parseFaultScript(lines.join('\n'), FILE), FILE, dexes)

    test('may speak of coins that it has listed itself, and of no others that are unknown', () => {
      const stallNew = '{"at_ms":10,"kind":"stall","coin":"NEW","duration_ms":60000}'
      expect(() => check(stall, stallNew, list('NEW'))).not.toThrow()
      expect(() => check(stall, stallNew)).toThrow('faults.jsonl:2: NEW is not listed then')
      expect(() => check(list('NEW'), list('NEW'))).toThrow('NEW is listed already')
    })

    test('delists no coin that is delisted already, by itself or from the start', () => {
      const delist = (coin: string): string => `{"at_ms":9,"kind":"delist","coin":"${coin}"}`
      expect(() => check(list('NEW'), delist('NEW'))).not.toThrow()
      expect(() => check(delist('MATIC'))).toThrow('faults.jsonl:1: MATIC is delisted already')
      expect(() => check(delist('SOL'), delist('SOL'))).toThrow(':2: SOL is delisted already')
    })

    test('lists no coin of a dex that does not exist, and says which do', () => {
      expect(() => check(list('flx:NEW'))).not.toThrow()
      expect(() => check(stall, list('nope:NEW'))).toThrow(
        'faults.jsonl:2: nope:NEW has no dex to be listed on: begin with one of xyz, flx, hyna and',
      )
    })
  })

  test('begins its faults at their times, repeats what is to be repeated, and stops', () => {
    const clock = new ManualClock(0)
    const begun: string[] = []
    const stop = runFaultScript(parseFaultScript(`${stall}\n${drop}`, FILE), clock, ({ fault }) =>
      begun.push(`${clock.nowMs()} ${fault.kind}`),
    )
    clock.advance(31_000)
    expect(begun).toEqual([
      '1000 drop-connections',
      '6000 drop-connections',
      '11000 drop-connections',
      '16000 drop-connections',
      '21000 drop-connections',
      '26000 drop-connections',
      '30000 stall',
      '31000 drop-connections',
    ])
    stop()
    clock.advance(60_000)
    expect(begun).toHaveLength(8)
  })
})
