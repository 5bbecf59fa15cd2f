import type { Exchange } from '../../../domain/external.ts'

/** Base-tier taker fees as published by the exchanges for spot, and by the venue for perpetuals, bps. */
export const takerFees = {
  version: '2026-11',
  takerBps: {
    coinbase: 60,
    kraken: 40,
    binance: 10,
    okx: 10,
    bybit: 10,
    venue_perp: 4.5,
  } satisfies Record<Exchange | 'venue_perp', number>,
} as const
