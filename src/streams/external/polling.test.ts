import type { Observable } from 'rxjs'
import { concatMap, of, throwError, timer, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../domain/event.ts'
import type { ExternalRuntime } from '../runtime.ts'
import { onGrid, poll } from './polling.ts'
import { retryMs } from './retry.ts'
import { SourceStatus } from './source-status.ts'

const SECOND_MS = 1_000

/** The start of each round in seconds, and what it emitted. */
function roundsOf(options: {
  readonly offsetMs: number
  readonly untilMs: number
  readonly isFailing?: (atMs: number) => boolean
  readonly lastsMs?: number
}) {
  const { offsetMs, untilMs, isFailing = () => false, lastsMs = 100 } = options
  const scheduler = new VirtualTimeScheduler()
  const begun: number[] = []
  const emitted: Batch[] = []
  const status = new SourceStatus('base')
  const round = (): Observable<Batch> => {
    const atMs = scheduler.now()
    begun.push(atMs / SECOND_MS)
    return timer(lastsMs, scheduler).pipe(
      concatMap(() =>
        isFailing(atMs)
          ? throwError(() => new Error('no'))
          : of(status.set('up', '', scheduler.now())),
      ),
    )
  }
  const failed = (_: unknown, failures: number) => ({
    batch: status.set('down', 'no', scheduler.now()),
    pauseMs: retryMs(failures, 0.5),
  })
  const runtime = { scheduler, random: () => 0.5 } as unknown as ExternalRuntime
  const pauseMs = onGrid(scheduler, 10 * SECOND_MS, offsetMs)
  poll({ runtime, initial: [], round, pauseMs, failed }).subscribe((batch) => emitted.push(batch))
  scheduler.maxFrames = untilMs
  scheduler.flush()
  return { begun, emitted }
}

describe('polling on a grid', () => {
  test('starts at once and then every ten seconds, shifted by the offset', () => {
    expect(roundsOf({ offsetMs: 0, untilMs: 35_000 }).begun).toEqual([0, 10, 20, 30])
    expect(roundsOf({ offsetMs: 3_000, untilMs: 35_000 }).begun).toEqual([0, 3, 13, 23, 33])
  })

  test('a long round delays the next one to the next point of the grid', () => {
    expect(roundsOf({ offsetMs: 0, untilMs: 60_000, lastsMs: 12_500 }).begun).toEqual([
      0, 20, 40, 60,
    ])
  })

  test('retries sooner after a failure, then with growing pauses, and returns to the grid', () => {
    const isFailing = (atMs: number) => atMs >= 10_000 && atMs < 120_000
    const { begun, emitted } = roundsOf({ offsetMs: 0, untilMs: 200_000, isFailing })
    const failing = begun.filter((at) => at >= 10 && at < 120)
    const waits = failing.slice(1).map((at, index) => at - (failing[index] ?? 0))
    // The last waits are equal up to rounding.
    const rounded = waits.map((wait) => Math.round(wait * SECOND_MS))
    expect(rounded).toEqual(rounded.toSorted((a, b) => a - b))
    expect(waits[0]).toBeLessThanOrEqual(2)
    expect(waits.at(-1)).toBeGreaterThan(15)
    expect(begun.slice(-3).map((at) => at % 10)).toEqual([0, 0, 0])
    expect(emitted.flat().map((event) => 'state' in event && event.state)).toEqual([
      'up',
      'down',
      'up',
    ])
  })
})
