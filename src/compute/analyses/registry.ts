import type { Analysis } from '../analysis.ts'
import { pulse } from './pulse/pulse.ts'
import { spread } from './spread/spread.ts'

/** Every product of the service. */
export const analyses: readonly Analysis[] = [pulse, spread]
