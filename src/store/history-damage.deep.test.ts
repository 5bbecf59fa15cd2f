import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import {
  barBatch,
  barsFrom,
  batchOf,
  fundingAt,
  minutesOf,
  START_MS,
  sampleAt,
} from './testing/history-rows.ts'

const NOW_MS = START_MS + 86_400_000
const MINUTE_MS = 60_000
const PAGE_BYTES = 4_096
/** `PRAGMA quick_check` misses five of six of these. */
const NOISE_BYTES = 64
const INTERIOR_PAGE = 5

/** More than there are tables, so that two share one. */
const coins = Array.from({ length: 66 }, (_, at) => `C${at}`)
const bars = barsFrom(START_MS, 250)
const samples = Array.from({ length: 150 }, (_, at) => sampleAt('C7', START_MS + at * MINUTE_MS))
const fundings = Array.from({ length: 30 }, (_, hour) => fundingAt('C7', hour, true))
const measures = minutesOf('basis/C7', START_MS, 1_000)

/** What every row says, by where it is. */
const written = new Map<string, string>([
  ...coins.flatMap((coin) =>
    bars.map((bar) => [`${coin} ${bar.openTimeMs}`, saying(bar)] as const),
  ),
  ...samples.map((row) => [`sample ${row.timeMs}`, saying(row)] as const),
  ...fundings.map((row) => [`funding ${row.timeMs}`, saying(row)] as const),
  ...measures.map(({ timeMs, value }) => [`measure ${timeMs}`, saying({ timeMs, value })] as const),
])

describe('damage to a history file', () => {
  let folder: string
  let path: string
  let whole: Buffer
  let interiorPages: number[]

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-damage-'))
    path = join(folder, 'history.db')
    const store = new HistoryStore({ path, onNotice: () => undefined }, NOW_MS)
    for (const coin of coins) store.add(barBatch(coin, bars))
    store.add(batchOf({ samples, fundings, measures }))
    store.close(NOW_MS)
    whole = readFileSync(path)
    interiorPages = Array.from({ length: whole.length / PAGE_BYTES }, (_, page) => page).filter(
      (page) => page > 0 && whole[page * PAGE_BYTES] === INTERIOR_PAGE,
    )
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  property.prop([anywhere(), noise()], { numRuns: 25 })(
    'is told, and gives no wrong row, where any 64 bytes were overwritten',
    (share, bytes) => {
      expectTold(Math.floor(share * (whole.length - NOISE_BYTES)), bytes)
    },
  )

  property.prop([anywhere(), mask()], { numRuns: 25 })(
    'is told, and gives no wrong row, where any byte was flipped',
    (share, bits) => {
      flip(Math.floor(share * whole.length), bits)
    },
  )

  property.prop([fc.nat(99), mask()], { numRuns: 25 })(
    'is told, and gives no wrong row, where the header of the file was flipped',
    flip,
  )

  property.prop([fc.nat(), fc.integer({ min: -40, max: 24 }), mask()], { numRuns: 25 })(
    'is told, and gives no wrong row, where a page that points to others was flipped',
    (choice, offset, bits) => {
      const page = interiorPages[choice % interiorPages.length] ?? 0
      flip(page * PAGE_BYTES + ((offset + PAGE_BYTES) % PAGE_BYTES), bits)
    },
  )

  function flip(at: number, bits: number): void {
    expectTold(at, Uint8Array.of((whole[at] ?? 0) ^ bits))
  }

  function expectTold(at: number, bytes: Uint8Array): void {
    const file = Buffer.from(whole)
    file.set(bytes, at)
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    writeFileSync(path, file)
    const notices: HistoryNotice[] = []
    const store = new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, NOW_MS)
    for (let turn = 0; turn < 4; turn += 1) for (const _ of store.tidy(NOW_MS));
    const found = rowsOf(store)
    store.close(NOW_MS)
    for (const [where, row] of found) {
      if (written.get(where) !== row) expect.fail(`${where} says ${row}`)
    }
    const missing = written.size - found.length
    if (missing > 0)
      expect(notices, `${missing} rows are missing, and nobody says so`).not.toEqual([])
  }

  function rowsOf(store: HistoryStore): (readonly [where: string, row: string])[] {
    return [
      ...coins.flatMap((coin) =>
        store.bars(coin, 0).map((bar) => [`${coin} ${bar.openTimeMs}`, saying(bar)] as const),
      ),
      ...store
        .samples('C7', 0, Number.POSITIVE_INFINITY)
        .map((row) => [`sample ${row.timeMs}`, saying(row)] as const),
      ...store.fundings('C7', 0).map((row) => [`funding ${row.timeMs}`, saying(row)] as const),
      ...store
        .measures('basis/C7', 0, Number.POSITIVE_INFINITY)
        .map((row) => [`measure ${row.timeMs}`, saying(row)] as const),
    ]
  }
})

function anywhere(): fc.Arbitrary<number> {
  return fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
}

function noise(): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: NOISE_BYTES, maxLength: NOISE_BYTES })
}

function mask(): fc.Arbitrary<number> {
  return fc.integer({ min: 1, max: 255 })
}

function saying(row: object): string {
  return JSON.stringify(row)
}
