import { Observable, Subscription } from 'rxjs'
import { WebSocket } from 'ws'
import { OperatingError } from '../domain/errors.ts'
import { hostOf } from '../domain/host-of.ts'
import type { EventLoop, PausableSocket } from './frame-slices.ts'
import { FrameSlices } from './frame-slices.ts'
import { HttpStatusError } from './http-exchange.ts'
import type { Connect } from './runtime.ts'

/** The largest known frame, the contexts of all dexes, has 0.2 MB. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024
const HANDSHAKE_MS_MAX = 10_000
/** The client sends a few hundred short frames; a peer that does not read them is dead. */
const UNSENT_BYTES_MAX = 1024 * 1024

/**
 * The only place that opens a WebSocket. No compression: it costs sixty times as much as receiving, and no server here
 * offers it. A socket is terminated without a closing handshake, because a dead peer would not answer it.
 */
export function webSocketConnector(loop: EventLoop): Connect {
  const slices = new FrameSlices(loop)
  return (url, outbound) => connected(url, outbound, slices)
}

function connected(
  url: string,
  outbound: Observable<string>,
  slices: FrameSlices,
): Observable<string> {
  return new Observable<string>((subscriber) => {
    const host = hostOf(url)
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
            if (socket.bufferedAmount > UNSENT_BYTES_MAX) fail('socket_congested', host)
            else if (socket.readyState === WebSocket.OPEN) socket.send(text)
          },
          error: (cause) => subscriber.error(cause),
        }),
      )
    })
    const pausable: PausableSocket = {
      pause: () => {
        if (socket.readyState === WebSocket.OPEN) socket.pause()
      },
      resume: () => {
        // `resume` throws on a socket that never opened.
        if (socket.isPaused) socket.resume()
      },
    }
    socket.on('message', (data) => {
      // No server here sends binary frames; the decoder rejects and counts one that arrives.
      slices.run(() => subscriber.next((data as Buffer).toString()), pausable)
    })
    socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      subscriber.error(new HttpStatusError(statusCode, url))
    })
    /** Stops sending immediately, and reports the end after the waiting frames. */
    const end = (code: string, message: string, cause?: unknown) => {
      sending.unsubscribe()
      slices.run(() => fail(code, message, cause), pausable)
    }
    socket.on('error', (cause) => end('socket_failed', `${host}: ${cause.message}`, cause))
    socket.on('close', (code) => end('socket_closed', `${host} closed with ${code}`))

    return () => {
      sending.unsubscribe()
      socket.terminate()
    }
  })
}
