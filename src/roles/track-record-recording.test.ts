import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { documentKinds } from '../compute/analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../compute/processor.ts'
import type { Bar } from '../domain/bar.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { candleSteps } from '../engine/candle-backtest.ts'
import { recorderOf } from '../engine/recording.ts'
import type { CoinCandles } from '../store/candle-folder.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import { printTrackRecord } from './track-record.ts'

const QUARTER_MS = 900_000
const START_MS = Date.UTC(2026, 0, 1)
const DAYS = 16
const VERSION = '1.2.3'
const RESTART_AT = 55

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

  test('finds the claims of the live engine and of its restarted successor, byte for byte', () => {
    const claims = join(folder, 'claims.jsonl')
    let text = ''
    printTrackRecord({ recording: path, write: claims, json: true }, (written) => {
      text += written
    })
    expect(live.length).toBeGreaterThan(50)
    expect(new Set(live.map(({ rule }) => rule)).size).toBeGreaterThan(5)
    expect(readFileSync(claims, 'utf8')).toBe(
      live.map((claim) => `${JSON.stringify(claim)}\n`).join(''),
    )
    expect(JSON.parse(text).periods[0].claims).toBe(live.length)
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
  for (const { batches, nowMs } of candleSteps(['BTC', 'SOL'].map(walkOf))) {
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

/** A random walk of 15m bars. */
function walkOf(coin: string): CoinCandles {
  let state = coin.charCodeAt(0)
  const chance = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const before = 260 * 96
  let price = 100
  const all: Bar[] = []
  for (let at = -before; at < DAYS * 96; at += 1) {
    const open = price
    price *= 1 + (chance() - 0.5) * 0.006
    const [high, low] = [1.001 * Math.max(open, price), 0.999 * Math.min(open, price)]
    const openTimeMs = START_MS + at * QUARTER_MS
    all.push({ openTimeMs, open, high, low, close: price, volumeBase: 100 + 400 * chance() })
  }
  const hours = joined(all, 4)
  return {
    ...{ coin, hours, quarters: all.slice(before), fourHours: joined(all, 16) },
    fundings: hours.map(({ openTimeMs }) => ({
      timeMs: openTimeMs,
      rateHourly: (chance() - 0.4) * 1e-4,
    })),
  }
}

function joined(bars: readonly Bar[], count: number): Bar[] {
  return Array.from({ length: Math.floor(bars.length / count) }, (_, at) => {
    const part = bars.slice(at * count, (at + 1) * count)
    return {
      openTimeMs: part[0]?.openTimeMs ?? 0,
      open: part[0]?.open ?? 0,
      high: Math.max(...part.map(({ high }) => high)),
      low: Math.min(...part.map(({ low }) => low)),
      close: part.at(-1)?.close ?? 0,
      volumeBase: part.reduce((sum, { volumeBase }) => sum + volumeBase, 0),
    }
  })
}
