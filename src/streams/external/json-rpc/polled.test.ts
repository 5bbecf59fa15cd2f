import type { Observable } from 'rxjs'
import { concatMap, of, throwError, timer, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../../domain/event.ts'
import type { ExternalRuntime } from '../../runtime.ts'
import { ToldStatus } from '../told-status.ts'
import { polled } from './polled.ts'

const SECOND_MS = 1_000

/** When each round began, seconds. */
function roundsOf(options: {
  readonly offsetMs: number
  readonly untilMs: number
  readonly isFailing?: (atMs: number) => boolean
  readonly lastsMs?: number
}) {
  const { offsetMs, untilMs, isFailing = () => false, lastsMs = 100 } = options
  const scheduler = new VirtualTimeScheduler()
  const begun: number[] = []
  const told: Batch[] = []
  const status = new ToldStatus('base')
  const round = (): Observable<Batch> => {
    const atMs = scheduler.now()
    begun.push(atMs / SECOND_MS)
    return timer(lastsMs, scheduler).pipe(
      concatMap(() =>
        isFailing(atMs)
          ? throwError(() => new Error('no'))
          : of(status.tell('up', '', scheduler.now())),
      ),
    )
  }
  const failed = () => status.tell('down', 'no', scheduler.now())
  const runtime = { scheduler, random: () => 0.5 } as unknown as ExternalRuntime
  polled({ runtime, offsetMs, round, failed }).subscribe((batch) => told.push(batch))
  scheduler.maxFrames = untilMs
  scheduler.flush()
  return { begun, told }
}

describe('rounds', () => {
  test('begin at once, then every ten seconds, moved by the offset', () => {
    expect(roundsOf({ offsetMs: 0, untilMs: 35_000 }).begun).toEqual([0, 10, 20, 30])
    expect(roundsOf({ offsetMs: 3_000, untilMs: 35_000 }).begun).toEqual([0, 3, 13, 23, 33])
  })

  test('never overlap: one that lasts long moves the next to its own grid', () => {
    expect(roundsOf({ offsetMs: 0, untilMs: 60_000, lastsMs: 12_500 }).begun).toEqual([
      0, 20, 40, 60,
    ])
  })

  test('come sooner after a failure, then ever later, and as before once one succeeds', () => {
    const isFailing = (atMs: number) => atMs >= 10_000 && atMs < 120_000
    const { begun, told } = roundsOf({ offsetMs: 0, untilMs: 200_000, isFailing })
    const failing = begun.filter((at) => at >= 10 && at < 120)
    const waits = failing.slice(1).map((at, index) => at - (failing[index] ?? 0))
    expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    expect(waits[0]).toBeLessThanOrEqual(2)
    expect(waits.at(-1)).toBeGreaterThan(15)
    expect(begun.slice(-3).map((at) => at % 10)).toEqual([0, 0, 0])
    expect(told.flat().map((event) => 'state' in event && event.state)).toEqual([
      'up',
      'down',
      'up',
    ])
  })
})
