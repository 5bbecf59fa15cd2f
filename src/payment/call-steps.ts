import type { FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Steps of this call; absent if the call is not traced. */
    callSteps?: CallSteps | null
  }
}

/** A step of a call, by milliseconds since the request arrived. */
export type CallStep = {
  readonly name: string
  readonly beginMs: number
  readonly endMs: number
  /** It ended with an exception. */
  readonly isError: boolean
}

/** Durations of the steps of one traced call. It holds no data of the call. */
export class CallSteps {
  readonly steps: CallStep[] = []
  readonly #reply: Pick<FastifyReply, 'elapsedTime'>

  constructor(reply: Pick<FastifyReply, 'elapsedTime'>) {
    this.#reply = reply
  }

  async measure<T>(name: string, work: () => Promise<T>, beginMs: number): Promise<T> {
    let isError = true
    try {
      const result = await work()
      isError = false
      return result
    } finally {
      this.add({ name, beginMs, endMs: this.elapsedMs, isError })
    }
  }

  add(step: CallStep): void {
    this.steps.push(step)
  }

  get elapsedMs(): number {
    return this.#reply.elapsedTime
  }
}

/** Runs a step, and measures it if the call is traced. */
export function measured<T>(
  request: FastifyRequest,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const { callSteps } = request
  return callSteps ? callSteps.measure(name, work, callSteps.elapsedMs) : work()
}
