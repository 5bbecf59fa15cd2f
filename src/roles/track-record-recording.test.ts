import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WALK_START_MS, walkOf } from '../../test/support/candle-walk.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { blockLines, liquidationsOf, writeArchive } from '../../test/support/node-fills.ts'
import { documentKinds } from '../compute/analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../compute/processor.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { candleSteps } from '../engine/candle-backtest.ts'
import { recorderOf } from '../engine/recording.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import { printTrackRecord } from './track-record.ts'
import { writtenClaims } from './written-claims.ts'

const QUARTER_MS = 900_000
const DAY_MS = 96 * QUARTER_MS
const DAYS = 16
const VERSION = '1.2.3'
const RESTART_AT = 55
const coins = ['BTC', 'SOL'].map((coin, at) => walkOf(coin, at + 1, DAYS))

describe('perpscope track-record --recording', () => {
  let folder: string
  let path: string
  let live: readonly ResolvedClaim[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-recorded-claims-'))
    path = join(folder, 'recording')
    live = await recordedRun(path)
  }, 240_000)

  afterAll(() => rmSync(folder, { recursive: true }))

  async function printed(options: Parameters<typeof printTrackRecord>[0]): Promise<string> {
    let text = ''
    const write = (written: string) => {
      text += written
    }
    await printTrackRecord(options, { write, tell: (damage) => expect.fail(damage) })
    return text
  }

  test('finds the claims of the live engine and of its restarted successor, byte for byte', async () => {
    const claims = join(folder, 'claims.jsonl')
    const text = await printed({ recording: path, write: claims, json: true })
    expect(live.length).toBeGreaterThan(50)
    expect(new Set(live.map(({ rule }) => rule)).size).toBeGreaterThan(5)
    expect(readFileSync(claims, 'utf8')).toBe(
      live.map((claim) => `${JSON.stringify(claim)}\n`).join(''),
    )
    expect(JSON.parse(text).periods[0].claims).toBe(live.length)
    expect([...writtenClaims(claims)]).toHaveLength(live.length)
  }, 240_000)

  test('grades zones by archived fills besides, from what the engine knew', async () => {
    const [claims, fills] = [join(folder, 'graded.jsonl'), join(folder, 'fills')]
    const fromMs = WALK_START_MS + 14 * DAY_MS
    const trades = coins.flatMap((candles, at) => liquidationsOf(candles, at + 1))
    writeArchive(
      fills,
      blockLines({ fromMs, untilMs: fromMs + 2 * DAY_MS, stepMs: 60_000 }, trades),
    )
    const text = await printed({ recording: path, fills, write: claims, json: true })
    const found = readFileSync(claims, 'utf8').trimEnd().split('\n')
    const isOfFills = (line: string) => line.includes('"zone.liquidated@1"')
    expect(found.filter((line) => !isOfFills(line))).toEqual(
      live.map((claim) => JSON.stringify(claim)),
    )
    const graded = found.filter(isOfFills).map((line) => JSON.parse(line) as ResolvedClaim)
    expect(graded.length).toBeGreaterThan(3)
    expect(graded.some(({ outcome }) => outcome.kind === 'event')).toBe(true)
    expect(JSON.parse(text).fills).toMatchObject({
      files: 48,
      from: new Date(fromMs).toISOString(),
    })
  }, 240_000)
})

/** Claims of an engine that writes what it receives and publishes into a file, and is restarted from a checkpoint. */
async function recordedRun(path: string): Promise<readonly ResolvedClaim[]> {
  const stopped: unknown[] = []
  const writer = await FrameLogWriter.open(path, {
    bytesMax: 1e9,
    clock: new ManualClock(),
    onStopped: (cause) => stopped.push(cause),
  })
  const recorder = recorderOf((recorded) => writer.append(recorded))
  const claims: ResolvedClaim[] = []
  let processor: Processor | null = null
  let step = 0
  for (const { batches, nowMs } of candleSteps(coins)) {
    if (processor === null || step === RESTART_AT) {
      const checkpoint = processor?.records.checkpoint(nowMs - QUARTER_MS) ?? null
      processor = new Processor(documentKinds, VERSION)
      if (checkpoint !== null) processor.restore(checkpoint, nowMs - 1_000)
      recorder.started({ version: VERSION, sockets: 1, checkpoint }, nowMs - 1_000)
    }
    for (const batch of batches) {
      processor.process(batch)
      recorder.externalReceived(batch, nowMs)
    }
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1) {
      const documents = [...processor.publish(nowMs)]
      recorder.published(documents, nowMs)
    }
    // Five hours in which history stores nothing: the successor has their claims from the checkpoint.
    if (step < RESTART_AT - 20 || step >= RESTART_AT) claims.push(...processor.records.takeClaims())
    processor.records.takeHistory()
    await writer.flush()
    step += 1
  }
  await writer.close()
  expect(stopped).toEqual([])
  return claims
}
