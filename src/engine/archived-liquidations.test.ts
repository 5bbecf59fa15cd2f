import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { collected } from '../../test/support/collected.ts'
import type { PlantedTrade } from '../../test/support/node-fills.ts'
import {
  blockLine,
  blockLines,
  hourPath,
  ordinaryPairs,
  writeArchive,
} from '../../test/support/node-fills.ts'
import type { MarketEvent } from '../domain/event.ts'
import { fillsHours } from '../store/fills-folder.ts'
import { ArchivedLiquidations } from './archived-liquidations.ts'

const START_MS = Date.UTC(2026, 6, 15, 9)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const VAULT = `0x${'c3'.repeat(20)}`

describe('archived liquidations', () => {
  let dir: string
  let damage: string[]

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'perpscope-archive-'))
    damage = []
  })

  afterEach(() => rmSync(dir, { recursive: true }))

  const archive = () =>
    new ArchivedLiquidations({
      hours: fillsHours(dir),
      isVault: (account) => account === VAULT,
      onFile: () => undefined,
      onDamage: (text) => damage.push(text),
    })

  /** Three hours with a block a minute, and trades at minutes after their start. */
  const write = (minutes: readonly number[], missing?: readonly number[]) => {
    const span = { fromMs: START_MS, untilMs: START_MS + 3 * HOUR_MS, stepMs: MINUTE_MS }
    writeArchive(dir, blockLines(span, minutes.map(trade)), missing)
  }

  /** What is given at each quarter of an hour, from the start on. */
  async function given(source = archive()) {
    const steps: { readonly minute: number; readonly events: readonly MarketEvent[] }[] = []
    for (let minute = 0; minute <= 195; minute += 15)
      steps.push({ minute, events: await until(source, minute) })
    return steps
  }

  async function until(source: ArchivedLiquidations, minute: number) {
    return (await collected(source.until(START_MS + minute * MINUTE_MS))).flat()
  }

  async function covered(source?: ArchivedLiquidations) {
    const spans: [number, number][] = []
    for (const { events } of await given(source))
      for (const event of events) {
        if (event.kind !== 'liquidation-feed') continue
        const [from, until] = [event.fromMs, event.untilMs].map((ms) => (ms - START_MS) / MINUTE_MS)
        const last = spans.at(-1)
        if (last !== undefined && last[1] === from) last[1] = until as number
        else spans.push([from as number, until as number])
      }
    return spans
  }

  test('are given once, in the order of time, and never before it', async () => {
    const minutes = [3, 7, 20.5, 59.9, 60, 61, 130]
    write(minutes)
    const steps = await given()
    const found = steps.flatMap(({ minute, events }) =>
      events.flatMap((event) =>
        event.kind === 'liquidation'
          ? [{ minute, tradeId: event.tradeId, at: (event.timeExchangeMs - START_MS) / MINUTE_MS }]
          : [],
      ),
    )
    expect(found.map(({ at }) => at)).toEqual(minutes)
    for (const { minute, at } of found) {
      expect(at).toBeLessThanOrEqual(minute)
      expect(at).toBeGreaterThan(minute - 15)
    }
    for (const { minute, events } of steps)
      for (const event of events) {
        expect(event.timeReceivedMs).toBe(START_MS + minute * MINUTE_MS)
        if (event.kind === 'liquidation-feed')
          expect(event.untilMs).toBeLessThanOrEqual(START_MS + minute * MINUTE_MS)
      }
  })

  test('cover the time of their blocks without a hole between the hours', async () => {
    write([10])
    const source = archive()
    expect(await covered(source)).toEqual([[0, 179]])
    expect(source.report()).toEqual({
      ...{ files: 3, linesUnreadable: 0, linesDropped: 0, liquidations: 1 },
      ...{ coveredMs: 179 * MINUTE_MS, fromMs: START_MS, untilMs: START_MS + 179 * MINUTE_MS },
    })
  })

  test('do not cover a missing hour, nor the minutes up to the next block', async () => {
    write([10, 70, 130], [START_MS + HOUR_MS])
    expect(await covered()).toEqual([
      [0, 59],
      [120, 179],
    ])
  })

  test('of hours before the first instant are not read', async () => {
    write([10, 70])
    const source = archive()
    const events = await until(source, 75)
    expect(events.filter(({ kind }) => kind === 'liquidation')).toHaveLength(1)
    expect(source.report().files).toBe(1)
    expect(await until(archive(), -60)).toEqual([])
  })

  test('after a long time are given by hours, so that only two of them are in memory', async () => {
    write([10, 59.9, 60, 70, 130])
    const read: string[] = []
    const source = new ArchivedLiquidations({
      hours: fillsHours(dir),
      isVault: () => false,
      onFile: (path) => read.push(path),
      onDamage: (text) => damage.push(text),
    })
    await until(source, 0)
    const batches: { readonly files: number; readonly minutes: readonly number[] }[] = []
    for await (const batch of source.until(START_MS + 195 * MINUTE_MS)) {
      const trades = batch.filter(({ kind }) => kind === 'liquidation')
      const minutes = trades.map(({ timeExchangeMs }) => (timeExchangeMs - START_MS) / MINUTE_MS)
      batches.push({ files: read.length, minutes })
    }
    expect(batches).toEqual([
      { files: 2, minutes: [10, 59.9, 60] },
      { files: 3, minutes: [70, 130] },
    ])
    expect(source.report().coveredMs).toBe(179 * MINUTE_MS)
  })

  test('are due at their time, and when the coverage is to be stated again', async () => {
    write([3, 20])
    const source = archive()
    expect(source.isDue(START_MS - 1)).toBe(true)
    await until(source, 2)
    expect(source.isDue(START_MS + 2 * MINUTE_MS + 9_999)).toBe(false)
    expect(source.isDue(START_MS + 2 * MINUTE_MS + 10_000)).toBe(true)
    await until(source, 3 - 1 / 12)
    expect(source.isDue(START_MS + 3 * MINUTE_MS)).toBe(true)
  })

  test('of a vault, and deleveragings, are left out', async () => {
    const trades = [
      trade(1),
      { ...trade(2), account: VAULT, method: 'backstop' as const },
      { ...trade(3), isDeleveraging: true },
      { ...trade(4), method: 'backstop' as const, side: 'short' as const },
    ]
    const span = { fromMs: START_MS, untilMs: START_MS + HOUR_MS, stepMs: MINUTE_MS }
    writeArchive(dir, blockLines(span, trades))
    const events = (await given()).flatMap(({ events: some }) => some)
    expect(events.filter(({ kind }) => kind === 'liquidation')).toMatchObject([
      { tradeId: 1_000, side: 'long', method: 'market' },
      { tradeId: 4_000, side: 'short', method: 'backstop' },
    ])
  })

  test('of a torn file cover the time before it is torn, and say where', async () => {
    write([10, 70, 130])
    const path = `${hourPath(dir, START_MS + HOUR_MS)}.gz`
    truncateSync(path, readFileSync(path).length - 20)
    const [first, second] = await covered()
    expect(first?.[0]).toBe(0)
    expect(first?.[1]).toBeLessThan(119)
    expect(second).toEqual([120, 179])
    expect(damage).toEqual([expect.stringMatching(/10\.gz is a damaged gzip file after line \d+$/)])
  })

  test('of a file with a wrong checksum are not used, because any line of it may be wrong', async () => {
    write([10, 70, 130])
    const path = `${hourPath(dir, START_MS + HOUR_MS)}.gz`
    // As long as several chunks, so that lines are given before the checksum is read.
    const bytes = gzipSync(`${gunzipSync(readFileSync(path)).toString('utf8')}${'\n'.repeat(4e6)}`)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 8) ^ 1, bytes.length - 8)
    writeFileSync(path, bytes)
    const source = archive()
    expect(await covered(source)).toEqual([
      [0, 59],
      [120, 179],
    ])
    expect(damage).toEqual([`${path} is a damaged gzip file, of which any line may be wrong`])
    expect(source.report()).toMatchObject({ liquidations: 2 })
  })

  test('of the intact one of two files of an hour are used', async () => {
    write([10, 20])
    const path = `${hourPath(dir, START_MS)}.gz`
    const text = gunzipSync(readFileSync(path)).toString('utf8')
    const bytes = gzipSync(`${text}${'\n'.repeat(4e6)}`)
    writeFileSync(hourPath(dir, START_MS), text)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 8) ^ 1, bytes.length - 8)
    writeFileSync(path, bytes)
    const source = archive()
    expect(await covered(source)).toEqual([[0, 179]])
    expect(source.report()).toMatchObject({ liquidations: 2 })
  })

  test('of a damaged line do not cover it, and name it once a file', async () => {
    write([10])
    change(START_MS, (lines) => lines.map((line, at) => (at % 20 === 5 ? line.slice(0, 90) : line)))
    const source = archive()
    expect(await covered(source)).toEqual([
      [0, 4],
      [6, 23],
      [25, 43],
      [45, 179],
    ])
    expect(damage).toEqual([`${hourPath(dir, START_MS)}.gz:6 has no fills`])
    expect(source.report()).toMatchObject({ linesUnreadable: 3, liquidations: 1 })
  })

  test('of an empty file, as a failed decompression leaves it, cover nothing and say so', async () => {
    write([10])
    const path = `${hourPath(dir, START_MS + HOUR_MS)}.gz`
    for (const [bytes, said] of [
      [gzipSync(''), 'is empty'],
      [Buffer.alloc(0), 'is a damaged gzip file after line 0'],
    ] as const) {
      writeFileSync(path, bytes)
      expect(await covered()).toEqual([
        [0, 59],
        [120, 179],
      ])
      expect(damage.pop()).toBe(`${path} ${said}`)
    }
  })

  test.each([
    ['another layout', '{"coin":"ETH","side":"A","time":"2026-07-15T09:01:00.0","px":"1"}'],
    ['another hour', blockLine(1, START_MS + 4 * HOUR_MS, [])],
  ])('of a file of %s cover nothing and say so', async (_, line) => {
    write([10, 70])
    change(START_MS, (lines) => lines.map(() => line))
    const source = archive()
    expect(await covered(source)).toEqual([[60, 179]])
    expect(damage).toEqual([
      `${hourPath(dir, START_MS)}.gz has no line of node_fills or node_fills_by_block of the hour 2026-07-15T09`,
    ])
    expect(source.report()).toMatchObject({ linesUnreadable: 61, liquidations: 1 })
  })

  test('of a damaged first line do not cover it, as of any other line', async () => {
    write([10, 70])
    change(START_MS + HOUR_MS, ([first = '', ...others]) => [first.slice(1), ...others])
    const source = archive()
    expect(await covered(source)).toEqual([
      [0, 59],
      [61, 179],
    ])
    expect(damage).toEqual([`${hourPath(dir, START_MS + HOUR_MS)}.gz:1 has no fills`])
    expect(source.report()).toMatchObject({ linesUnreadable: 1, liquidations: 2 })
  })

  test('of a file that is cut within a line do not cover its end', async () => {
    write([10, 70])
    const path = hourPath(dir, START_MS)
    const text = gunzipSync(readFileSync(`${path}.gz`)).toString('utf8')
    rmSync(`${path}.gz`)
    writeFileSync(path, text.slice(0, -20))
    expect(await covered()).toEqual([
      [0, 58],
      [60, 179],
    ])
    expect(damage).toEqual([`${path}:61 has no fills`])
  })

  test('of an older file that is torn near its end do not cover the seconds that it lost', async () => {
    const line = (second: number) =>
      JSON.stringify(ordinaryPairs({ ...trade(0), timeMs: START_MS + second * 1_000 })[0])
    const lines = (from: number, until: number) =>
      Array.from({ length: until - from }, (_, at) => line(from + at))
    write([])
    change(START_MS, () => lines(0, 3_600))
    change(START_MS + HOUR_MS, () => lines(3_600, 3_700))
    const path = `${hourPath(dir, START_MS)}.gz`
    truncateSync(path, readFileSync(path).length - 4)
    const [first, second] = await covered()
    expect(first?.[1]).toBeLessThan(60)
    expect(first?.[1]).toBeGreaterThan(59.8)
    expect(second?.[0]).toBeCloseTo(60, 2)
  })

  test('that are invalid are missing of their coin alone', async () => {
    write([10, 20.5])
    change(START_MS, (lines) =>
      lines.map((line, at) => (at === 10 ? line.replaceAll('"sz":"2"', '"sz":"0"') : line)),
    )
    const source = archive()
    const events = (await given(source)).flatMap(({ events: some }) => some)
    expect(events.filter(({ kind }) => kind === 'liquidation-gap')).toMatchObject([
      { coin: 'ETH', fromMs: START_MS + 10 * MINUTE_MS, untilMs: START_MS + 10 * MINUTE_MS + 1 },
    ])
    expect(source.report()).toMatchObject({ linesDropped: 1, coveredMs: 179 * MINUTE_MS })
    expect(damage).toEqual([`${hourPath(dir, START_MS)}.gz:11 has an invalid fill`])
  })

  test('in files that are there twice are given once', async () => {
    write([10, 20])
    const path = hourPath(dir, START_MS)
    writeFileSync(path, gunzipSync(readFileSync(`${path}.gz`)))
    appendFileSync(path, '\n\n')
    const source = archive()
    expect(await covered(source)).toEqual([[0, 179]])
    expect(source.report()).toMatchObject({ files: 4, liquidations: 2 })
  })

  function change(hourMs: number, to: (lines: readonly string[]) => readonly string[]): void {
    const path = `${hourPath(dir, hourMs)}.gz`
    const lines = gunzipSync(readFileSync(path)).toString('utf8').trimEnd().split('\n')
    writeFileSync(path, gzipSync(`${to(lines).join('\n')}\n`))
  }
})

function trade(minute: number): PlantedTrade {
  return {
    ...{ coin: 'ETH', tradeId: Math.round(minute * 1_000), timeMs: START_MS + minute * MINUTE_MS },
    ...{ side: 'long', sizeBase: 2, markPrice: 3_000 },
  }
}
