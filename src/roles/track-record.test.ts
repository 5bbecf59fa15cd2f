import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../config/config-error.ts'
import { OperatingError } from '../domain/errors.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { printTrackRecord } from './track-record.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

describe('perpscope track-record', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-track-record-'))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('prints the record of claims, of the whole period and of its second half', () => {
    const path = join(folder, 'claims.jsonl')
    writeFileSync(
      path,
      claims(200)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const { periods } = JSON.parse(printed({ claims: path, json: true }))
    expect(periods).toHaveLength(2)
    expect(periods[0]).toMatchObject({ claims: 200, from: '2026-01-01T00:00:00.000Z' })
    expect(periods[1].claims).toBe(100)
    const [cell] = periods[0].cells
    expect(cell).toMatchObject({ rule: 'vote.rsi@1', horizon_hours: 1, coin_class: 'mid', n: 200 })
    expect(cell.rate).toBeCloseTo(0.75, 6)
    expect(printed({ claims: path })).toMatch(/vote\.rsi@1 +1 h +mid/)
  })

  test('a part of a record needs the evidence of the whole', () => {
    const path = join(folder, 'right.jsonl')
    writeFileSync(
      path,
      claims(1_200)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const whole = (cells?: number) => {
      const options = { claims: path, json: true as const, ...(cells !== undefined && { cells }) }
      const [{ watched_cells, cells: rows }] = JSON.parse(printed(options)).periods
      return [watched_cells, rows[0].status]
    }
    expect(whole()).toEqual([1, 'supported'])
    expect(whole(1e6)).toEqual([1e6, 'not_supported'])
  })

  test('writes claims from which it prints the same record again', () => {
    const [path, again] = [join(folder, 'a.jsonl'), join(folder, 'b.jsonl')]
    writeFileSync(
      path,
      claims(50)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const table = printed({ claims: path, write: again })
    expect(printed({ claims: again })).toBe(table)
  })

  test('refuses no source, several sources, and files of another form', () => {
    expect(() => printed({})).toThrow(ConfigError)
    expect(() => printed({ claims: 'a', recording: 'b' })).toThrow(ConfigError)
    const path = join(folder, 'wrong.jsonl')
    writeFileSync(path, 'no json')
    expect(() => printed({ claims: path })).toThrow(OperatingError)
    expect(() => printed({ candles: join(folder, 'none') })).toThrow(/has no folder coins/)
  })

  test('reads a folder of candles by its layout', () => {
    const coin = join(folder, 'data', 'coins', 'BTC')
    mkdirSync(coin, { recursive: true })
    const bars = `t,o,h,l,c,v\n${START_MS},1,2,0.5,1.5,10\n`
    writeFileSync(join(coin, '15m.csv.gz'), gzipSync(bars))
    writeFileSync(
      join(coin, 'funding_1h.csv.gz'),
      gzipSync(`t,fundingRate\n${START_MS + HOUR_MS + 54},-0.0000125\n`),
    )
    const bar = { openTimeMs: START_MS, open: 1, high: 2, low: 0.5, close: 1.5, volumeBase: 10 }
    expect([...readCandleFolder(join(folder, 'data'))]).toEqual([
      {
        coin: 'BTC',
        quarters: [bar],
        hours: [],
        fourHours: [],
        fundings: [{ timeMs: START_MS + HOUR_MS, rateHourly: -0.0000125 }],
      },
    ])
  })
})

function printed(options: Parameters<typeof printTrackRecord>[0]): string {
  let text = ''
  printTrackRecord(options, (written) => {
    text += written
  })
  return text
}

/** One an hour; three of four are right. */
function claims(count: number): ResolvedClaim[] {
  return Array.from({ length: count }, (_, at) => ({
    rule: 'vote.rsi@1',
    coin: 'SOL',
    coinClass: 'mid',
    madeAtMs: START_MS + at * HOUR_MS,
    horizonMs: HOUR_MS,
    statement: { form: 'event', probability: 0.55, control: 0.5 },
    reference: [1],
    resolvedAtMs: START_MS + (at + 1) * HOUR_MS + 900_000,
    outcome: { kind: 'event', happened: at % 4 > 0, controlHappened: null },
  }))
}
