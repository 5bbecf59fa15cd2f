import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { readGauges } from '../api/metrics/read-gauge.ts'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import type { Clock } from '../domain/clock.ts'
import { documentKey } from '../domain/document.ts'
import { timeframes } from '../domain/timeframe.ts'
import type { EngineReplica } from '../link/engine-replica.ts'

const PERIOD_MS = 5_000

/**
 * Logs the number of coins with an answer by timeframe whenever it changes, until all followed coins have one. It may
 * run for hours, because a newly listed coin has too few bars.
 */
export function warmUpLog(engine: EngineReplica, clock: Clock, log: Logger) {
  let stop = () => {}
  const start = () => {
    const startedMs = clock.nowMs()
    let before = ''
    stop = clock.every(PERIOD_MS, () => {
      const coins = followedCount(engine)
      const ready = Object.fromEntries(
        timeframes.map((timeframe) => [timeframe, readyCount(engine, timeframe)]),
      )
      const text = JSON.stringify({ coins, ready })
      if (coins <= 0 || text === before) return
      before = text
      const isWarm = Object.values(ready).every((count) => count >= coins)
      const seconds = Math.round((clock.nowMs() - startedMs) / 1_000)
      log.info({ coins, ready, seconds }, isWarm ? 'warm' : 'warming up')
      if (isWarm) stop()
    })
  }
  return { start, stop: () => stop() }
}

/** Share of the followed coins that have an answer, by timeframe. */
export function measureWarmUp(metrics: Registry, engine: EngineReplica): void {
  readGauges(
    metrics,
    'perpscope_warm_up_ratio',
    'Share of the followed coins that /pulse answers, by timeframe: 1 when warm.',
    'timeframe',
    () => {
      const coins = followedCount(engine)
      return coins <= 0
        ? []
        : timeframes.map((timeframe) => {
            // A coin that is no longer followed keeps its last answer.
            const ratio = Math.min(1, readyCount(engine, timeframe) / coins)
            return [timeframe, ratio] as const
          })
    },
  )
}

/** Listed coins without those that the limit of subscriptions leaves out. */
function followedCount({ listed, heartbeat }: EngineReplica): number {
  return listed.length - (heartbeat?.coinsLeftOut ?? 0)
}

function readyCount(engine: EngineReplica, view: string): number {
  return engine.listed.filter((coin) =>
    engine.hasAnswerIn(documentKey(pulse.contract.id, coin), view),
  ).length
}
