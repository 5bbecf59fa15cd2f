import type { Observable } from 'rxjs'
import { merge } from 'rxjs'
import type { Batch } from '../../domain/event.ts'
import type { SourceId } from '../../domain/external.ts'
import type { ExternalRuntime } from '../runtime.ts'
import { evmChainSource } from './evm/evm-chain.ts'
import { pythEvm } from './evm/pyth-evm.ts'
import { binance } from './exchanges/binance.ts'
import { bybit } from './exchanges/bybit.ts'
import { coinbase } from './exchanges/coinbase.ts'
import { exchangeSource } from './exchanges/exchange-source.ts'
import { kraken } from './exchanges/kraken.ts'
import { okx } from './exchanges/okx.ts'
import { fearGreed } from './fear-greed/fear-greed.ts'
import { pythHermes } from './pyth-hermes/pyth-hermes.ts'
import { redstone } from './redstone/redstone.ts'
import { solanaSource } from './solana/solana.ts'
import type { ExternalSource, SourceAddress, SourceContext } from './source.ts'
import { stablecoinSupply } from './stablecoin-supply/stablecoin-supply.ts'

/** Chainlink and Pyth on Solana have no entry: the sources of their chains emit them as well. */
export const sources: Partial<Record<SourceId, ExternalSource>> = {
  'pyth-hermes': pythHermes,
  'pyth-evm': pythEvm,
  redstone,
  coinbase: exchangeSource(coinbase),
  kraken: exchangeSource(kraken),
  binance: exchangeSource(binance),
  okx: exchangeSource(okx),
  bybit: exchangeSource(bybit),
  ethereum: evmChainSource('ethereum'),
  arbitrum: evmChainSource('arbitrum'),
  base: evmChainSource('base'),
  optimism: evmChainSource('optimism'),
  polygon: evmChainSource('polygon'),
  bsc: evmChainSource('bsc'),
  avalanche: evmChainSource('avalanche'),
  solana: solanaSource,
  'fear-greed': fearGreed,
  'stablecoin-supply': stablecoinSupply,
}

/** The events of every source that has an address. */
export function externalFeed(
  addresses: Partial<Readonly<Record<SourceId, SourceAddress>>>,
  context: SourceContext,
  runtime: ExternalRuntime,
): Observable<Batch> {
  const entries = Object.entries(sources) as [SourceId, ExternalSource][]
  return merge(
    ...entries.flatMap(([id, source]) => {
      const address = addresses[id]
      return address === undefined ? [] : source(address, context, runtime)
    }),
  )
}
