import { asyncScheduler } from 'rxjs'
import type { Clock } from '../domain/clock.ts'
import { followText, getText, postJson } from '../streams/http-exchange.ts'
import type { ExternalRuntime } from '../streams/runtime.ts'
import { webSocketConnector } from '../streams/web-socket.ts'

export const connectWebSocket = webSocketConnector({
  nowMs: () => performance.now(),
  afterOthers: (task) => setImmediate(task),
})

/** The runtime of all feeds with the real network and this clock. */
export function systemRuntime(clock: Clock): ExternalRuntime {
  return {
    scheduler: {
      now: () => clock.nowMs(),
      schedule: asyncScheduler.schedule.bind(asyncScheduler),
    },
    random: Math.random,
    connect: connectWebSocket,
    post: postJson,
    get: getText,
    follow: followText,
  }
}
