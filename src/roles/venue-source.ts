import { ConfigError } from '../config/config-error.ts'
import type { VenueUrls } from '../engine/engine.ts'
import { claimDataDir } from '../store/data-dir.ts'

const LIVE_VENUE = {
  wsUrl: 'wss://api.hyperliquid.xyz/ws',
  infoUrl: 'https://api.hyperliquid.xyz/info',
}

/** The addresses that `--source` stands for: 'live', or any URL that a simulator has told. */
export function venueOf(source: string): VenueUrls {
  if (source === 'live') return LIVE_VENUE
  const base = source.replace(/\/(info\/?)?$/, '')
  return { wsUrl: `${base.replace(/^http/, 'ws')}/ws`, infoUrl: `${base}/info` }
}

/**
 * Which market it is, for whoever remembers it: the host. A simulator has another port each time; all of this
 * machine count as one.
 * @throws ConfigError for what is no URL
 */
export function marketOf(source: string): string {
  const { infoUrl } = venueOf(source)
  if (!URL.canParse(infoUrl))
    throw new ConfigError(`--source ${source} is neither 'live' nor a URL`)
  const { hostname } = new URL(infoUrl)
  return isLoopback(hostname) ? 'this machine' : hostname
}

/** @throws ConfigError where the folder has what was learnt of another market */
export function claimFor(source: string, dataDir: string): void {
  const market = marketOf(source)
  const owner = claimDataDir(dataDir, market)
  if (owner !== market)
    throw new ConfigError(
      `${dataDir} has what was learnt of the market at ${owner}, not at ${market}: give another --data-dir`,
    )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}
