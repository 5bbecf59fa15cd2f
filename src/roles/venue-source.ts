import type { EngineOptions } from './engine.ts'

const LIVE_VENUE = {
  wsUrl: 'wss://api.hyperliquid.xyz/ws',
  infoUrl: 'https://api.hyperliquid.xyz/info',
}

/** The addresses that `--source` stands for: 'live', or any URL that a simulator has told. */
export function venueOf(source: string): EngineOptions['venue'] {
  if (source === 'live') return LIVE_VENUE
  const base = source.replace(/\/(info\/?)?$/, '')
  return { wsUrl: `${base.replace(/^http/, 'ws')}/ws`, infoUrl: `${base}/info` }
}
