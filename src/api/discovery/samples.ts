import samples from './samples.json' with { type: 'json' }

/**
 * One answer of every analysis, as the engine gave it on the simulated market: the true form with invented figures.
 * Written by `test/golden/write-samples.ts`.
 */
const byId: Readonly<Record<string, unknown>> = samples

/** @returns undefined for an analysis that is not known. */
export function sampleOf(id: string): unknown {
  return Object.hasOwn(byId, id) ? byId[id] : undefined
}
