import { contracts } from '../../src/compute/analyses/registry.ts'

/** Cannot be answered by a service that hears the venue alone, as it does here. */
const FROM_OUTSIDE: ReadonlySet<string> = new Set(['basis', 'cex-dex', 'arb', 'depeg'])

/** What the simulated service sells. */
export const venueContracts = contracts.filter(({ id }) => !FROM_OUTSIDE.has(id))
