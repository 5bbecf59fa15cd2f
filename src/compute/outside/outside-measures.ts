import type { OutsideMeasure } from './outside-measure.ts'

/** Everything that is measured beyond the venue. Their order is the order in a checkpoint: a new one comes last. */
export function outsideMeasures() {
  return {} satisfies Record<string, OutsideMeasure>
}
