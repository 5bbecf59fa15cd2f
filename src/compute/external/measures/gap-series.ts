import type { OracleNetwork } from '../../../domain/external.ts'

/** Names of the minute series of the gaps of a coin in the measure log. */
export const gapSeries = {
  basis: (coin: string, network: OracleNetwork) => `basis/${coin}/${network}`,
  /** @param dex `pool`, or an oracle network */
  cexDex: (coin: string, dex: string) => `cex-dex/${coin}/${dex}`,
} as const
