/**
 * Identifies a tracker: the section of its state and how it is created. An analysis lists its own kinds, the engine
 * creates one tracker of each for every coin or for the market, and readers find it by its kind.
 */
export type TrackerKind<Scope extends 'coin' | 'market', T> = {
  readonly scope: Scope
  /** Unique. Section of a checkpoint with its state: another id begins empty. */
  readonly id: string
  create(): T
}
