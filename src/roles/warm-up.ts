import type { Logger } from 'pino'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import type { Clock } from '../domain/clock.ts'
import { documentKey, viewOf } from '../domain/document.ts'
import { timeframes } from '../domain/timeframe.ts'
import type { EngineReplica } from '../link/engine-replica.ts'

const PERIOD_MS = 5_000

/**
 * Logs the number of coins with an answer by timeframe whenever it changes, until all coins have one. It may run for
 * hours, because a newly listed coin has too few bars.
 */
export function warmUpLog(engine: EngineReplica, clock: Clock, log: Logger) {
  let stop = () => {}
  const start = () => {
    const startedMs = clock.nowMs()
    let before = ''
    stop = clock.every(PERIOD_MS, () => {
      const coins = engine.listed.length
      const ready = Object.fromEntries(
        timeframes.map((timeframe) => [timeframe, readyCount(engine, timeframe)]),
      )
      const text = JSON.stringify({ coins, ready })
      if (coins === 0 || text === before) return
      before = text
      const isWarm = Object.values(ready).every((count) => count === coins)
      const seconds = Math.round((clock.nowMs() - startedMs) / 1_000)
      log.info({ coins, ready, seconds }, isWarm ? 'warm' : 'warming up')
      if (isWarm) stop()
    })
  }
  return { start, stop: () => stop() }
}

function readyCount(engine: EngineReplica, view: string): number {
  return engine.listed.filter((coin) => {
    const document = engine.document(documentKey(pulse.contract.id, coin))
    return document !== undefined && viewOf(document, view)?.kind === 'answer'
  }).length
}
