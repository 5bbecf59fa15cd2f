import { contracts } from '../../src/compute/analyses/registry.ts'

/** Analyses that need external sources, which the simulation lacks. */
const NEEDS_EXTERNAL: ReadonlySet<string> = new Set(['basis', 'cex-dex', 'arb', 'depeg'])

/** Analyses that the simulated service sells. */
export const venueContracts = contracts.filter(({ id }) => !NEEDS_EXTERNAL.has(id))
