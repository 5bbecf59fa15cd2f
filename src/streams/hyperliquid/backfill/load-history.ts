import type { Observable } from 'rxjs'
import { concat, concatMap, defer, EMPTY, filter, map, timer } from 'rxjs'
import type { Batch } from '../../../domain/event.ts'
import type { Memory } from '../../../domain/history.ts'
import { memorySeries } from '../../../domain/history.ts'
import type { FeedParts } from './feed-parts.ts'

/** Between two turns of reading our own history. */
const RECALL_PERIOD_MS = 1
/** Series that are read in one turn: each takes some 0.2 ms. */
const RECALLS_A_TURN = 8

/** Our own history of these coins; one series of all of them comes after the other. */
export function loadHistory(
  coins: readonly string[],
  { ingest, loadHistory: load, runtime, slow }: FeedParts,
): Observable<Batch> {
  const { scheduler } = runtime
  const read = (coin: string, series: Memory['series']): Batch => {
    const nowMs = scheduler.now()
    const memory = load?.(coin, series, nowMs) ?? null
    if (memory === null) return []
    if (memory.series === 'fundings') slow.told.remembered(coin, memory.rows)
    return ingest.loadedHistory(memory, nowMs)
  }
  const all = load === undefined ? [] : coins
  const turns = memorySeries.flatMap((series) =>
    Array.from({ length: Math.ceil(all.length / RECALLS_A_TURN) }, (_, turn) =>
      timer(RECALL_PERIOD_MS, scheduler).pipe(
        concatMap(() => all.slice(turn * RECALLS_A_TURN, (turn + 1) * RECALLS_A_TURN)),
        map((coin) => read(coin, series)),
      ),
    ),
  )
  const began = defer(() => {
    slow.recalling()
    return EMPTY
  })
  const ended = defer(() => {
    slow.recalled()
    return EMPTY
  })
  return concat(began, ...turns, ended).pipe(filter((batch) => batch.length > 0))
}
