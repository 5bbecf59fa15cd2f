import { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'

/** A caller that is gone is known by then: its kernel refuses what was sent within one round trip. */
const REFUSED_MS_MAX = 1_000

/**
 * Learns whether callers have whole responses, as far as a socket shows it: the last byte was sent, and the connection
 * still stands some time later or brings another request. A closed connection proves nothing, for its caller may have
 * gone without reading; neither does the connection of a proxy, which may have lost the caller behind it.
 */
export class DeliveryConfirmations {
  readonly #clock: Clock
  readonly #waiting = new WeakMap<Socket, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A request came: its connection has brought over what was sent before. */
  arrived({ raw: { socket } }: FastifyRequest): void {
    this.#waiting.get(socket)?.()
  }

  /** The last byte of the response to `request` was sent. @param whole called once the caller has it */
  sent(request: FastifyRequest, whole: () => void): void {
    const { socket } = request.raw
    // Calls within this process have no socket.
    if (!(socket instanceof Socket) || request.ip !== socket.remoteAddress) return
    const judge = () => {
      cancel()
      this.#waiting.delete(socket)
      if (!socket.destroyed && !socket.readableEnded) whole()
    }
    const cancel = this.#clock.after(REFUSED_MS_MAX, judge)
    this.#waiting.set(socket, judge)
  }
}
