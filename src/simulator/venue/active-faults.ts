import { noiseKey } from '../market/noise.ts'
import type { CoinChannel, LastingFault } from './fault.ts'
import type { Receiver } from './frame-fault.ts'
import { FrameFault } from './frame-fault.ts'

type Active = {
  readonly fault: LastingFault
  /** Chance of its own. */
  readonly key: number
  readonly frames: FrameFault | undefined
  /** Whom it befalls; everybody where undefined. */
  readonly only: Receiver | undefined
}

/** The faults that last at this moment, and what they come to together. */
export class ActiveFaults {
  #active: readonly Active[] = []
  #begun = 0

  /** @returns what ends it. */
  begin(fault: LastingFault, only?: Receiver): () => void {
    const key = noiseKey(this.#begun++, fault.kind)
    const frames = 'share' in fault ? new FrameFault(fault.kind, fault.share, key) : undefined
    const begun: Active = { fault, key, frames, only }
    this.#active = [...this.#active, begun]
    return () => {
      this.#active = this.#active.filter((active) => active !== begun)
      frames?.end()
    }
  }

  /** Key of the newest fault of a kind; undefined while there is none. */
  keyOf(kind: LastingFault['kind']): number | undefined {
    return this.#active.findLast(({ fault }) => fault.kind === kind)?.key
  }

  /** How much later than sent a frame arrives there. */
  delayMs(receiver: Receiver): number {
    return this.#sum(({ fault, only }) =>
      fault.kind === 'delay-frames' && (only ?? receiver) === receiver ? fault.delayMs : 0,
    )
  }

  /** What the venue's clock shows beyond the time. */
  get skewMs(): number {
    return this.#sum(({ fault }) => (fault.kind === 'clock-skew' ? fault.offsetMs : 0))
  }

  /** The worst of the outages of HTTP: no answer at all, then a broken one. */
  get restOutage(): '500' | 'hang' | 'garbage' | undefined {
    const outages = this.#active.flatMap(({ fault }) =>
      fault.kind === 'rest-outage' ? [fault.how] : [],
    )
    return (['hang', '500', 'garbage'] as const).find((how) => outages.includes(how))
  }

  /** What becomes of new subscriptions; they are granted where undefined. Silence hides the error. */
  get subscriptionRefusal(): 'silent' | 'error' | undefined {
    const refusals = this.#active.flatMap(({ fault }) =>
      fault.kind === 'refuse-subscriptions' ? [fault.how] : [],
    )
    return (['silent', 'error'] as const).find((how) => refusals.includes(how))
  }

  isStalled(coin: string, channel: CoinChannel): boolean {
    return this.#active.some(
      ({ fault }) =>
        fault.kind === 'stall' &&
        fault.coin === coin &&
        (fault.channels === undefined || fault.channels.includes(channel)),
    )
  }

  /** What passes now of a frame with data, after all faults, the oldest first. */
  passing(text: string, receiver: Receiver, subscription: string): readonly string[] {
    let passing: readonly string[] = [text]
    for (const { frames } of this.#active) {
      if (frames === undefined) continue
      passing = passing.flatMap((frame) => frames.passes(frame, receiver, subscription))
    }
    return passing
  }

  forget(receiver: Receiver): void {
    for (const { frames } of this.#active) frames?.forget(receiver)
  }

  #sum(of: (active: Active) => number): number {
    let sum = 0
    for (const active of this.#active) sum += of(active)
    return sum
  }
}
