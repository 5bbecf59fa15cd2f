import { createClient, RESP_TYPES } from '@redis/client'
import { backOffMs } from '../../domain/back-off.ts'

/** A connection without a reply for longer is replaced. */
export const REPLY_MS_MAX = 2_000
const CONNECT_MS_MAX = 2_000
/** An idle connection is tested this often, because a lost peer does not always close it. */
const PING_PERIOD_MS = 1_000
const RECONNECT = { minMs: 20, maxMs: 1_000 }
/** More commands without a reply are refused. */
const QUEUE_MAX = 1_000

export type RedisClient = ReturnType<typeof redisClient>

/**
 * A client of a Valkey or Redis server, not yet connected. It connects again by itself.
 * @param url `redis://`, `rediss://` for TLS; `valkey://` and `valkeys://` mean the same
 * @param random number from 0 to 1
 */
export function redisClient(url: string, random: () => number) {
  return createClient({
    // `valkeys` and `rediss` are the names with TLS.
    url: url.replace(/^valkey/i, 'redis'),
    RESP: 3,
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    // A command that waits for a connection would be late when it is sent.
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    pingInterval: PING_PERIOD_MS,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: {
      connectTimeout: CONNECT_MS_MAX,
      // An idle connection that does not answer a ping.
      socketTimeout: PING_PERIOD_MS + REPLY_MS_MAX,
      reconnectStrategy: (retries) => backOffMs(RECONNECT, retries + 1, random()),
    },
  })
}
