import { bits, uniform } from '../market/noise.ts'
import type { FrameFaultKind } from './fault.ts'
import { garbled } from './garble.ts'

/** Where a frame goes: a connection. Only its identity counts here. */
export type Receiver = { send(text: string): void }

/** One fault of frames with data, from its beginning to its end. */
export class FrameFault {
  readonly #kind: FrameFaultKind
  readonly #share: number
  readonly #key: number
  /** Frames that wait for the next one of their subscription: by receiver, then by subscription. */
  readonly #held = new Map<Receiver, Map<string, string>>()
  #frames = 0

  constructor(kind: FrameFaultKind, share: number, key: number) {
    this.#kind = kind
    this.#share = share
    this.#key = key
  }

  /** What passes now of a frame of one subscription. */
  passes(text: string, receiver: Receiver, subscription: string): readonly string[] {
    const index = this.#frames++
    const isHit = uniform(this.#key, index) < this.#share
    if (this.#kind === 'reorder-frames') return this.#reordered(text, receiver, subscription, isHit)
    if (!isHit) return [text]
    switch (this.#kind) {
      case 'drop-frames':
        return []
      case 'duplicate-frames':
        return [text, text]
      case 'garble-frames':
        return [garbled(text, bits(this.#key ^ 0x2f, index))]
    }
  }

  forget(receiver: Receiver): void {
    this.#held.delete(receiver)
  }

  /** Sends what still waits. */
  end(): void {
    for (const [receiver, held] of this.#held) for (const text of held.values()) receiver.send(text)
    this.#held.clear()
  }

  #reordered(
    text: string,
    receiver: Receiver,
    subscription: string,
    isHit: boolean,
  ): readonly string[] {
    const held = this.#held.get(receiver) ?? new Map<string, string>()
    this.#held.set(receiver, held)
    const earlier = held.get(subscription)
    if (earlier !== undefined) {
      held.delete(subscription)
      return [text, earlier]
    }
    if (!isHit) return [text]
    held.set(subscription, text)
    return []
  }
}
