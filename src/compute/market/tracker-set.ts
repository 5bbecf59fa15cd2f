import assert from 'node:assert/strict'
import type { TrackerKind } from './tracker-kind.ts'

type Kind<T> = TrackerKind<'coin' | 'market', T>

type Tracker = {
  readonly inputs?: readonly string[]
  save?(): Float64Array
}

/** One tracker of each kind, in the order of the kinds. */
export class TrackerSet<T extends Tracker> {
  readonly all: readonly T[]
  readonly #byKind: ReadonlyMap<Kind<T>, T>
  readonly #byInput = new Map<string, readonly T[]>()

  constructor(kinds: readonly Kind<T>[]) {
    this.#byKind = new Map(kinds.map((kind) => [kind, kind.create()]))
    this.all = [...this.#byKind.values()]
    assert.equal(new Set(kinds.map(({ id }) => id)).size, this.all.length, 'an id has one tracker')
    for (const event of new Set(this.all.flatMap(({ inputs = [] }) => inputs)))
      this.#byInput.set(
        event,
        this.all.filter(({ inputs = [] }) => inputs.includes(event)),
      )
  }

  of<One extends T>(kind: Kind<One>): One {
    const tracker = this.#byKind.get(kind)
    assert(tracker !== undefined, `${kind.id} is tracked where an analysis lists it (\`trackers\`)`)
    return tracker as One
  }

  /** Trackers that take events of a kind. */
  takingInput(event: string): readonly T[] {
    return this.#byInput.get(event) ?? NONE
  }

  /** State by id, of the trackers that have any to save. */
  saved(): readonly (readonly [string, Float64Array])[] {
    return [...this.#byKind].flatMap(([{ id }, tracker]) =>
      tracker.save === undefined ? [] : [[id, tracker.save()] as const],
    )
  }

  /**
   * Restores trackers from their sections. A tracker without a section begins empty; a section without a tracker is
   * ignored.
   */
  restore(
    sections: ReadonlyMap<string, Float64Array>,
    restore: (tracker: T, numbers: Float64Array) => void,
  ): void {
    for (const [{ id }, tracker] of this.#byKind) {
      const numbers = sections.get(id)
      if (numbers !== undefined) restore(tracker, numbers)
    }
  }
}

const NONE: readonly never[] = []
