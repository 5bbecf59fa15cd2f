import { Observable, Subscription } from 'rxjs'
import { WebSocket } from 'ws'
import { OperatingError } from '../domain/errors.ts'
import type { Loop, Source } from './frame-turns.ts'
import { FrameTurns } from './frame-turns.ts'
import { HttpStatusError } from './http-exchange.ts'
import type { Connect } from './runtime.ts'

/** The largest known frame, all contexts of all venues' markets, has 0.2 MB. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024
const HANDSHAKE_MS_MAX = 10_000
/** We send a few hundred short frames; a peer that does not take them is dead. */
const UNSENT_BYTES_MAX = 1024 * 1024

/**
 * The only place that opens a socket. No compression: it costs sixty times what receiving costs, and
 * no venue here offers it. A socket is torn down rather than closed, because a dead peer would not
 * answer the closing handshake.
 */
export function webSocketConnector(loop: Loop): Connect {
  const turns = new FrameTurns(loop)
  return (url, outbound) => connected(url, outbound, turns)
}

function connected(
  url: string,
  outbound: Observable<string>,
  turns: FrameTurns,
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
    const source: Source = {
      hold: () => {
        if (socket.readyState === WebSocket.OPEN) socket.pause()
      },
      goOn: () => {
        // One that never opened cannot go on.
        if (socket.isPaused) socket.resume()
      },
    }
    socket.on('message', (data) => {
      // No venue here sends binary frames: as a text that is none, such a one is rejected and counted.
      // `String` would look up how first, which costs as much.
      turns.run(() => subscriber.next((data as Buffer).toString()), source)
    })
    socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      subscriber.error(new HttpStatusError(statusCode, url))
    })
    /** That it ended is told after the frames before; what would be sent meanwhile would be lost. */
    const end = (code: string, message: string, cause?: unknown) => {
      sending.unsubscribe()
      turns.run(() => fail(code, message, cause), source)
    }
    socket.on('error', (cause) => end('socket_failed', `${url}: ${cause.message}`, cause))
    socket.on('close', (code) => end('socket_closed', `${url} closed with ${code}`))

    return () => {
      sending.unsubscribe()
      socket.terminate()
    }
  })
}
