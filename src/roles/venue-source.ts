import { ConfigError } from '../config/config-error.ts'
import type { EngineOptions, VenueUrls } from '../engine/engine.ts'
import { claimDataDir } from '../store/data-dir.ts'

type LiquidationSources = Pick<EngineOptions, 'liquidatorVaults' | 'liquidationFeedUrl'>

const LIVE_VENUE = {
  wsUrl: 'wss://api.hyperliquid.xyz/ws',
  infoUrl: 'https://api.hyperliquid.xyz/info',
}

/** The URLs of `--source`: 'live', or the URL of a simulator. */
export function venueOf(source: string): VenueUrls {
  if (source === 'live') return LIVE_VENUE
  const base = source.replace(/\/(info\/?)?$/, '')
  return { wsUrl: `${base.replace(/^http/, 'ws')}/ws`, infoUrl: `${base}/info` }
}

/** Where liquidations are confirmed; the venue's own vaults, and no feed, where nothing is given. */
export function liquidationSources({ liquidatorVaults, liquidationFeedUrl }: LiquidationSources) {
  return {
    ...(liquidatorVaults && { liquidatorVaults }),
    ...(liquidationFeedUrl !== undefined && { liquidationFeedUrl }),
  }
}

/**
 * The name of a market in the data directory: its host. All simulators of this machine are one market, because their
 * ports change.
 */
export function marketOf(source: string): string {
  const { hostname } = new URL(venueOf(source).infoUrl)
  return isLoopback(hostname) ? 'this machine' : hostname
}

/** @throws ConfigError if the folder contains data of another market */
export function claimFor(source: string, dataDir: string): void {
  const market = marketOf(source)
  const owner = claimDataDir(dataDir, market)
  if (owner !== market)
    throw new ConfigError(
      `${dataDir} contains data of the market at ${owner}, not at ${market}: give another --data-dir`,
    )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}
