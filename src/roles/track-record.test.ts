import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WALK_START_MS, walkOf, writeCandles } from '../../test/support/candle-walk.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { blockLines, liquidationsOf, writeArchive } from '../../test/support/node-fills.ts'
import { ConfigError } from '../config/config-error.ts'
import { OperatingError } from '../domain/errors.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { recorderOf } from '../engine/recording.ts'
import { readCandleFolder } from '../store/candle-folder.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import { printTrackRecord } from './track-record.ts'

const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('perpscope track-record', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-track-record-'))
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test('prints the record of claims, of the whole period and of its second half', async () => {
    const path = join(folder, 'claims.jsonl')
    writeFileSync(
      path,
      claims(200)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const { periods } = JSON.parse(await printed({ claims: path, json: true }))
    expect(periods).toHaveLength(2)
    expect(periods[0]).toMatchObject({ claims: 200, from: '2026-01-01T00:00:00.000Z' })
    expect(periods[1].claims).toBe(100)
    const [cell] = periods[0].cells
    expect(cell).toMatchObject({ rule: 'vote.rsi@1', horizon_hours: 1, coin_class: 'mid', n: 200 })
    expect(cell.rate).toBeCloseTo(0.75, 6)
    expect(await printed({ claims: path })).toMatch(/vote\.rsi@1 +1 h +mid/)
  })

  test('a part of a record needs the evidence of the whole', async () => {
    const path = join(folder, 'right.jsonl')
    writeFileSync(
      path,
      claims(1_200)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const whole = async (cells?: number) => {
      const options = { claims: path, json: true as const, ...(cells !== undefined && { cells }) }
      const [{ watched_cells, cells: rows }] = JSON.parse(await printed(options)).periods
      return [watched_cells, rows[0].status]
    }
    expect(await whole()).toEqual([1, 'supported'])
    expect(await whole(1e6)).toEqual([1e6, 'not_supported'])
  })

  test('writes claims from which it prints the same record again', async () => {
    const [path, again] = [join(folder, 'a.jsonl'), join(folder, 'b.jsonl')]
    writeFileSync(
      path,
      claims(50)
        .map((claim) => JSON.stringify(claim))
        .join('\n'),
    )
    const table = await printed({ claims: path, write: again })
    expect(await printed({ claims: again })).toBe(table)
  })

  test('refuses no source, several sources, and files of another form', async () => {
    await expect(printed({})).rejects.toThrow(ConfigError)
    await expect(printed({ claims: 'a', recording: 'b' })).rejects.toThrow(ConfigError)
    const both = printed({ claims: 'a', fills: 'b' })
    await expect(both).rejects.toThrow('--fills needs --candles or --recording')
    const path = join(folder, 'wrong.jsonl')
    writeFileSync(path, 'no json')
    await expect(printed({ claims: path })).rejects.toThrow(OperatingError)
    const none = join(folder, 'none')
    await expect(printed({ candles: none })).rejects.toThrow(/has no folder coins/)
    const fills = join(folder, 'empty')
    mkdirSync(fills)
    await expect(printed({ candles: none, fills })).rejects.toThrow(/has no hourly fills/)
  })

  test('grades zones by the liquidations of archived fills, and says what these cover', async () => {
    const [candles, fills] = [join(folder, 'market'), join(folder, 'fills')]
    const coin = walkOf('BTC', 1, 17)
    writeCandles(candles, [coin])
    const fromMs = WALK_START_MS + 14 * DAY_MS
    const span = { fromMs, untilMs: fromMs + 3 * DAY_MS, stepMs: 60_000 }
    writeArchive(fills, blockLines(span, liquidationsOf(coin, 1)), [fromMs + 5 * HOUR_MS])
    const cellsOf = (text: string) => {
      const [{ cells }] = JSON.parse(text).periods
      return cells.filter(({ rule }: { rule: string }) => rule === 'zone.liquidated@1')
    }
    expect(cellsOf(await printed({ candles, json: true }))).toEqual([])
    const text = await printed({ candles, fills, json: true })
    const [cell, ...others] = cellsOf(text)
    expect(others).toEqual([])
    expect(cell.n).toBeGreaterThan(3)
    expect(cell.void).toBeGreaterThan(0)
    const { fills: read } = JSON.parse(text)
    expect(read).toMatchObject({
      ...{ files: 71, lines_unreadable: 0, lines_with_invalid_fills: 0 },
      from: '2026-01-15T00:00:00.000Z',
    })
    // A block a minute: the last minutes before the missing hour and the end have no next block.
    expect(read.covered_hours).toBeCloseTo(71 - 2 / 60, 1)
    const said: string[] = []
    appendFileSync(join(fills, '20260115', '0.gz'), 'torn')
    const table = await printed({ candles, fills }, (damage) => said.push(damage))
    expect(table).toMatch(/^\d+ liquidation fills in 71 files, which cover 69\.97 h between /)
    expect(table).toMatch(/zone\.liquidated@1 +24 h/)
    expect(said.join()).toMatch(/20260115\/0\.gz is a damaged gzip file after line \d+: liquid/)
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

  test('says how many days of candles it needs', async () => {
    const dir = join(folder, 'short')
    mkdirSync(join(dir, 'coins', 'BTC'), { recursive: true })
    const bars = Array.from({ length: 13 * 96 }, (_, at) => `${START_MS + at * 900_000},1,2,1,1,9`)
    writeFileSync(
      join(dir, 'coins', 'BTC', '15m.csv.gz'),
      gzipSync(['t,o,h,l,c,v', ...bars].join('\n')),
    )
    await expect(printed({ candles: dir })).rejects.toThrow(
      /no claim was resolved: claims begin 14 days after the first bar/,
    )
  })

  test('says where a recording is damaged', async () => {
    const path = join(folder, 'damaged')
    const writer = await FrameLogWriter.open(path, {
      ...{ bytesMax: 1e6, clock: new ManualClock(), onStopped: () => {} },
    })
    const recorder = recorderOf((recorded) => writer.append(recorded))
    recorder.started({ version: '1.2.3', sockets: 1, checkpoint: null }, START_MS)
    await writer.close()
    appendFileSync(path, 'torn block')
    const said: string[] = []
    const found = printed({ recording: path }, (text) => said.push(text))
    await expect(found).rejects.toThrow('no claim was resolved')
    expect(said).toEqual([
      `${path} is damaged: the last 10 bytes are torn; claims around it may be missing\n`,
    ])
  })
})

async function printed(
  options: Parameters<typeof printTrackRecord>[0],
  tell: (text: string) => void = (text) => expect.fail(text),
): Promise<string> {
  let text = ''
  const write = (written: string) => {
    text += written
  }
  await printTrackRecord(options, { write, tell })
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
