import assert from 'node:assert/strict'
import type { SchedulerLike } from 'rxjs'
import { concatMap, NEVER, Observable, of, timer } from 'rxjs'
import type { Clock } from '../../src/domain/clock.ts'
import { OperatingError } from '../../src/domain/errors.ts'
import type { NewFates } from '../../src/simulator/market/coin-positions.ts'
import type { Market } from '../../src/simulator/market/market.ts'
import type { VenueCadences } from '../../src/simulator/venue/limits.ts'
import { venueCadences, venueLimits } from '../../src/simulator/venue/limits.ts'
import { Venue } from '../../src/simulator/venue/venue.ts'
import type { Runtime } from '../../src/streams/runtime.ts'
import { Chance } from '../simulation/chance.ts'
import { Kernel } from '../simulation/kernel.ts'
import { Machine } from '../simulation/machine.ts'

const REPLY_MS = 50
const RECONNECT_MS = 100

/** The simulated venue without sockets, and a client, in virtual time. */
export class VirtualVenue {
  readonly venue: Venue
  readonly #kernel: Kernel
  readonly #scheduler: SchedulerLike

  constructor(
    market: Market,
    startMs: number,
    options: { readonly cadences?: Partial<VenueCadences>; readonly newFates?: NewFates } = {},
  ) {
    const { cadences, newFates } = options
    this.#kernel = new Kernel(startMs)
    const machine = new Machine(this.#kernel, new Chance(1, 'venue'))
    const process = machine.process((cause) => assert.fail(String(cause)))
    this.#scheduler = process.scheduler
    this.venue = new Venue({
      market,
      clock: this.#kernel.clock,
      limits: venueLimits,
      cadences: { ...venueCadences, ...cadences },
      ...(newFates && { newFates }),
    })
  }

  get nowMs(): number {
    return this.#kernel.nowMs
  }

  /** Virtual time as a clock with timers. */
  get clock(): Clock {
    return this.#kernel.clock
  }

  get scheduler(): SchedulerLike {
    return this.#scheduler
  }

  /** Advances virtual time up to and including an instant. */
  runUntil(timeMs: number): void {
    this.#kernel.runUntil(timeMs)
  }

  /** Calls the venue in place of a network, with latency. */
  runtime(): Runtime {
    const { scheduler, venue } = this
    return {
      scheduler,
      random: () => 0.5,
      connect: (url, outbound) =>
        new Observable<string>((subscriber) => {
          const drop = () => subscriber.error(new OperatingError('socket_closed', url))
          const send = (text: string) => subscriber.next(text)
          // An unreachable venue makes the client wait, as a network does.
          const attempts = timer(0, RECONNECT_MS, scheduler).subscribe(() => {
            const session = venue.connect('here', { send, drop, queuedBytes: () => 0 })
            if (session === undefined) return
            attempts.unsubscribe()
            subscriber.add(outbound.subscribe((text) => session.receive(text)))
            subscriber.add(() => session.close())
          })
          return attempts
        }),
      post: (_, body) =>
        timer(REPLY_MS, scheduler).pipe(
          concatMap(() => {
            const answer = venue.info('here', JSON.stringify(body))
            return answer === undefined ? NEVER : of(answer)
          }),
        ),
    }
  }
}
