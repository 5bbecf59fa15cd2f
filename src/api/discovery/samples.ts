import samples from './samples.json' with { type: 'json' }

/**
 * One answer of every analysis, as the engine gave it on the simulated market: the true form with invented figures.
 * Written by `test/golden/write-samples.ts`.
 */
const byId: Readonly<Record<string, Sample>> = samples

export type Sample = Readonly<Record<string, unknown>>

/** @returns an empty one for an analysis that is not known. */
export function sampleOf(id: string): Sample {
  return Object.hasOwn(byId, id) ? (byId[id] ?? {}) : {}
}
