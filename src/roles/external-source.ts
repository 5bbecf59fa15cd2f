import type { ExternalSourceOptions } from '../config/market-source.ts'
import type { SourceUrls } from '../config/values.ts'
import type { SourceId } from '../domain/external.ts'
import { sourceIds } from '../domain/external.ts'
import type { SourceAddress } from '../streams/external/source.ts'

export type ExternalAddresses = Readonly<Partial<Record<SourceId, SourceAddress>>>

/** Public addresses that need no key, but for the first. A second one stands in for the first. */
const LIVE_URLS: SourceUrls = {
  'pyth-hermes': ['https://hermes.pyth.network', 'https://pyth.dourolabs.app/hermes'],
  'pyth-evm': ['https://rpc.monad.xyz', 'https://rpc1.monad.xyz'],
  redstone: [
    'https://oracle-gateway-1.a.redstone.finance',
    'https://oracle-gateway-2.a.redstone.finance',
    'https://oracle-gateway-1.a.redstone.vip',
  ],
  coinbase: ['wss://ws-feed.exchange.coinbase.com'],
  kraken: ['wss://ws.kraken.com/v2'],
  binance: ['wss://data-stream.binance.vision', 'wss://stream.binance.com:9443'],
  okx: ['wss://ws.okx.com:8443/ws/v5/public'],
  bybit: ['wss://stream.bybit.com/v5/public/spot'],
  ethereum: [
    'https://ethereum.reth.rs/rpc',
    'https://ethereum-rpc.publicnode.com',
    'https://eth.drpc.org',
  ],
  base: ['https://mainnet.base.org', 'https://base-rpc.publicnode.com', 'https://base.drpc.org'],
  arbitrum: [
    'https://arb1.arbitrum.io/rpc',
    'https://arbitrum-one-rpc.publicnode.com',
    'https://arbitrum.drpc.org',
  ],
  optimism: [
    'https://mainnet.optimism.io',
    'https://optimism-rpc.publicnode.com',
    'https://optimism.drpc.org',
  ],
  polygon: ['https://polygon.drpc.org', 'https://polygon-bor-rpc.publicnode.com'],
  bsc: [
    'https://56.rpc.thirdweb.com',
    'https://bsc-dataseed.bnbchain.org',
    'https://bsc-rpc.publicnode.com',
  ],
  avalanche: [
    'https://api.avax.network/ext/bc/C/rpc',
    'https://avalanche-c-chain-rpc.publicnode.com',
    'https://avalanche.drpc.org',
  ],
  solana: ['https://api.mainnet-beta.solana.com', 'https://solana-rpc.publicnode.com'],
  'fear-greed': ['https://api.alternative.me'],
  'stablecoin-supply': ['https://stablecoins.llama.fi'],
}

const SOCKET_SOURCES: ReadonlySet<SourceId> = new Set([
  'coinbase',
  'kraken',
  'binance',
  'okx',
  'bybit',
])

/** Where each source is reached; one without an address is not listened to. */
export function externalAddresses({
  source,
  outside,
  sourceUrl,
  pythKey,
}: ExternalSourceOptions): ExternalAddresses {
  if (outside === 'off') return {}
  const usual = source === 'live' ? LIVE_URLS : simulatedUrls(source)
  const addresses: Partial<Record<SourceId, SourceAddress>> = {}
  for (const id of sourceIds) {
    const urls = sourceUrl[id] ?? usual[id] ?? []
    const key = id === 'pyth-hermes' ? pythKey : undefined
    if (urls.length > 0) addresses[id] = { urls, ...(key !== undefined && { key }) }
  }
  return addresses
}

function simulatedUrls(source: string): SourceUrls {
  const base = source.replace(/\/(info\/?)?$/, '')
  return Object.fromEntries(
    Object.keys(LIVE_URLS).map((id) => {
      const isSocket = SOCKET_SOURCES.has(id as SourceId)
      return [id, [`${isSocket ? base.replace(/^http/, 'ws') : base}/outside/${id}`]]
    }),
  )
}
