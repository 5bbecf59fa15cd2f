import { Observable, Subscription } from 'rxjs'
import { WebSocket } from 'ws'
import { OperatingError } from '../domain/errors.ts'
import { HttpStatusError } from './http-exchange.ts'
import type { Connect } from './runtime.ts'

/** The largest known frame, all contexts of all venues' markets, has 0.2 MB. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024
const HANDSHAKE_MS_MAX = 10_000
/** After so much of one socket others have their turn, and timers: a burst of books is half a megabyte. */
const TURN_BYTES = 32 * 1024
/** We send a few hundred short frames; a peer that does not take them is dead. */
const UNSENT_BYTES_MAX = 1024 * 1024

/**
 * The only place that opens a socket. No compression: it costs sixty times what receiving costs, and
 * no venue here offers it. A socket is torn down rather than closed, because a dead peer would not
 * answer the closing handshake.
 * @param afterOthers runs a task once whatever else is due has run
 */
export function webSocketConnector(afterOthers: (task: () => void) => void): Connect {
  return (url, outbound) => connected(url, outbound, afterOthers)
}

function connected(
  url: string,
  outbound: Observable<string>,
  afterOthers: (task: () => void) => void,
): Observable<string> {
  return new Observable<string>((subscriber) => {
    const sending = new Subscription()
    const socket = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: FRAME_BYTES_MAX,
      handshakeTimeout: HANDSHAKE_MS_MAX,
    })
    const fail = (code: string, message: string, cause?: unknown) =>
      subscriber.error(new OperatingError(code, message, { cause }))

    socket.on('open', () => {
      sending.add(
        outbound.subscribe({
          next: (text) => {
            if (socket.bufferedAmount > UNSENT_BYTES_MAX) fail('socket_congested', url)
            else if (socket.readyState === WebSocket.OPEN) socket.send(text)
          },
          error: (cause) => subscriber.error(cause),
        }),
      )
    })
    let turnBytes = 0
    const letOthersRun = () => {
      socket.pause()
      afterOthers(() => {
        turnBytes = 0
        socket.resume()
      })
    }
    socket.on('message', (data, isBinary) => {
      turnBytes += (data as Buffer).length
      if (turnBytes >= TURN_BYTES && !socket.isPaused) letOthersRun()
      if (!isBinary) subscriber.next(String(data))
    })
    socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      subscriber.error(new HttpStatusError(statusCode, url))
    })
    socket.on('error', (cause) => fail('socket_failed', `${url}: ${cause.message}`, cause))
    socket.on('close', (code) => fail('socket_closed', `${url} closed with ${code}`))

    return () => {
      sending.unsubscribe()
      socket.terminate()
    }
  })
}
