import samples from './samples.json' with { type: 'json' }

/** One answer per analysis, computed on the simulated market by `test/golden/write-samples.ts`. */
const byId: Readonly<Record<string, Sample>> = samples

export type Sample = Readonly<Record<string, unknown>>

/** @returns an empty object for an unknown analysis */
export function sampleAnswer(id: string): Sample {
  return Object.hasOwn(byId, id) ? (byId[id] ?? {}) : {}
}
