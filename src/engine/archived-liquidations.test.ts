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
import type { PlantedTrade } from '../../test/support/node-fills.ts'
import { blockLine, blockLines, hourPath, writeArchive } from '../../test/support/node-fills.ts'
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
      steps.push({ minute, events: await source.until(START_MS + minute * MINUTE_MS) })
    return steps
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
    const events = await source.until(START_MS + 75 * MINUTE_MS)
    expect(events.filter(({ kind }) => kind === 'liquidation')).toHaveLength(1)
    expect(source.report().files).toBe(1)
    expect(await archive().until(START_MS - HOUR_MS)).toEqual([])
  })

  test('are due at their time, and when the coverage is to be stated again', async () => {
    write([3, 20])
    const source = archive()
    expect(source.isDue(START_MS - 1)).toBe(true)
    await source.until(START_MS + 2 * MINUTE_MS)
    expect(source.isDue(START_MS + 2 * MINUTE_MS + 9_999)).toBe(false)
    expect(source.isDue(START_MS + 2 * MINUTE_MS + 10_000)).toBe(true)
    await source.until(START_MS + 3 * MINUTE_MS - 5_000)
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

  test('in a file of another layout, or of another hour, are refused by its first line', async () => {
    write([10])
    change(START_MS, () => ['{"coin":"ETH","side":"A","time":"2026-07-15T09:01:00.0","px":"1"}'])
    const layout = '20260715/9.gz:1 is not a line of node_fills or node_fills_by_block of the hour'
    await expect(given()).rejects.toThrow(layout)
    change(START_MS, () => [blockLine(1, START_MS + 4 * HOUR_MS, [])])
    await expect(given()).rejects.toThrow(`${layout} 2026-07-15T09`)
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
