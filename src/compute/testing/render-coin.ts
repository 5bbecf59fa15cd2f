import type { Document } from '../../domain/document.ts'
import { documentKey } from '../../domain/document.ts'
import type { MarketEvent } from '../../domain/event.ts'
import type { CoinDocumentKind } from '../analysis.ts'
import { PulsePool } from '../indicators/pulse-series.ts'
import { newMarket } from './new-market.ts'
import { NOW_MS, universe } from './tape.ts'

/** What an analysis makes of a coin after these events, in a market of that coin alone or of `listed`. */
export function renderCoin(
  analysis: CoinDocumentKind,
  coin: string,
  events: readonly MarketEvent[],
  listed: readonly string[] = [coin],
): Document {
  const market = newMarket(new PulsePool(3 * listed.length))
  for (const event of [universe(listed), ...events]) market.apply(event)
  const found = market.coin(coin)
  if (found === undefined) throw new Error(`${coin} is not listed`)
  const key = documentKey(analysis.contract.id, coin)
  const identity = { key, version: 1, renderedAtMs: NOW_MS }
  return analysis.render(found, { ...identity, snapshotId: 'snp_test', engineVersion: '0' }, market)
}
