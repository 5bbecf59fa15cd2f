import { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../domain/clock.ts'

/** Within one round trip the kernel of a disconnected caller refuses the data. */
const REFUSED_MS_MAX = 1_000

/**
 * Detects complete deliveries as far as a socket shows them: all bytes were sent, and the connection is still open 1 s
 * later or carries another request. A closed connection proves nothing, and neither does the connection of a proxy.
 */
export class DeliveryConfirmations {
  readonly #clock: Clock
  readonly #waiting = new WeakMap<Socket, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A new request confirms the earlier response on its connection. */
  arrived({ raw: { socket } }: FastifyRequest): void {
    this.#waiting.get(socket)?.()
  }

  /**
   * The last byte of a response was sent.
   * @param whole called once the caller has the response
   */
  sent(request: FastifyRequest, whole: () => void): void {
    const { socket } = request.raw
    // In-process calls have no socket.
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
