import type { SimulationOptions, SimulationResult } from './simulation.ts'
import { simulate } from './simulation.ts'

/** The first seeds run twice, to prove that a run is deterministic. */
const REPEATED_SEEDS = 10

/** Outcome of one seed. Plain data, because it is sent between processes. */
export type Outcome = { readonly result: SimulationResult; readonly runMs: number }

export function outcomeOf(options: SimulationOptions, nowMs: () => number): Outcome {
  const startedMs = nowMs()
  const first = simulate(options)
  const runMs = nowMs() - startedMs
  const result = options.seed % REPEATED_SEEDS === 0 ? repeated(first, options) : first
  return { result, runMs }
}

/** Runs a seed again. Different bytes are a violation. */
export function repeated(first: SimulationResult, options: SimulationOptions): SimulationResult {
  const second = simulate(options)
  if (second.digest === first.digest) return first
  return {
    ...first,
    counts: { ...first.counts, 'determinism: the same seed gave other bytes': 1 },
    violations: [
      ...first.violations,
      {
        checker: 'determinism',
        atMs: 0,
        coin: null,
        what: 'the same seed gave other bytes',
        detail: `${first.digest} and ${second.digest}`,
        during: [],
      },
    ],
  }
}
