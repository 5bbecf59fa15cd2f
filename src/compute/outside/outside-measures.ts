import { ArbMeasure } from './arb-measure.ts'
import { BasisMeasure } from './basis-measure.ts'
import { CexDexMeasure } from './cex-dex-measure.ts'
import { DepegMeasure } from './depeg-measure.ts'
import { OracleTrust } from './oracle-trust.ts'
import type { OutsideMeasure } from './outside-measure.ts'
import { SentimentMeasure } from './sentiment-measure.ts'

/** Everything that is measured beyond the venue. Their order is the order in a checkpoint: a new one comes last. */
export function outsideMeasures() {
  return {
    oracles: new OracleTrust(),
    basis: new BasisMeasure(),
    arb: new ArbMeasure(),
    sentiment: new SentimentMeasure(),
    depeg: new DepegMeasure(),
    cexDex: new CexDexMeasure(),
  } satisfies Record<string, OutsideMeasure>
}
