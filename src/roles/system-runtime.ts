import { asyncScheduler } from 'rxjs'
import type { Clock } from '../domain/clock.ts'
import { postJson } from '../streams/http-post.ts'
import type { Runtime } from '../streams/runtime.ts'
import { connectWebSocket } from '../streams/web-socket.ts'

/** The one real runtime of a feed, by this clock. */
export function systemRuntime(clock: Clock): Runtime {
  return {
    scheduler: {
      now: () => clock.nowMs(),
      schedule: asyncScheduler.schedule.bind(asyncScheduler),
    },
    random: Math.random,
    connect: connectWebSocket,
    post: postJson,
  }
}
