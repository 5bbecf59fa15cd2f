import { asyncScheduler } from 'rxjs'
import { postJson } from '../streams/http-post.ts'
import type { Runtime } from '../streams/runtime.ts'
import { connectWebSocket } from '../streams/web-socket.ts'

/** The one real runtime of a feed. */
export const systemRuntime: Runtime = {
  scheduler: asyncScheduler,
  random: Math.random,
  connect: connectWebSocket,
  post: postJson,
}
