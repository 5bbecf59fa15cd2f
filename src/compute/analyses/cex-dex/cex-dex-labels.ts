import type { CexDexReading } from '../../external/cex-dex-reading.ts'
import { dexName, isActionable } from '../../external/cex-dex-reading.ts'
import { divergenceDirection } from '../../external/divergence-direction.ts'
import { bps } from '../../render/significance.ts'

/** Of the printed divergence. Within its noise it is NORMAL, however large it is. */
export function severityOf(reading: Pick<CexDexReading, 'divergenceBps' | 'noiseBps'>) {
  const away = bps(Math.abs(reading.divergenceBps))
  if (away < 10 || divergenceDirection(reading) === 'aligned') return 'NORMAL'
  if (away < 30) return 'MILD'
  return away <= 100 ? 'SIGNIFICANT' : 'EXTREME'
}

export function cexDexInterpretation(token: string, reading: CexDexReading): string {
  const { divergenceBps, noiseBps, cex, dex } = reading
  const away = `${bps(Math.abs(divergenceBps))} bps ${divergenceBps >= 0 ? 'above' : 'below'}`
  const against = dex.source === 'dex_pool' ? `the pool on ${dex.leg.pool.chain}` : dexName(dex)
  const noise = `the noise of ${bps(noiseBps)} bps`
  const within = `within ${noise}`
  const beyond = isActionable(reading) ? `beyond ${noise}` : `barely beyond ${noise}`
  const size = divergenceDirection(reading) === 'aligned' ? within : beyond
  return `${cex.used.length} exchanges price ${token} ${away} ${against}, ${size}.`
}
