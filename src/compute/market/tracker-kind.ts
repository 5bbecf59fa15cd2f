/**
 * Names one piece of derived state: where it is saved, and how it begins. An analysis lists the kinds that are its
 * own, the engine makes one tracker of each for every coin or for the market, and readers find it by its kind.
 */
export type TrackerKind<Scope extends 'coin' | 'market', T> = {
  readonly scope: Scope
  /** Unique. The section of a checkpoint that holds its state: another id begins empty. */
  readonly id: string
  create(): T
}
