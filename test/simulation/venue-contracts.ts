import { contracts } from '../../src/compute/analyses/registry.ts'

/** Cannot be answered by a service that hears the venue alone, as it does here. */
const NEEDS_EXTERNAL: ReadonlySet<string> = new Set(['basis', 'cex-dex', 'arb', 'depeg'])

/** What the simulated service sells. */
export const venueContracts = contracts.filter(({ id }) => !NEEDS_EXTERNAL.has(id))
