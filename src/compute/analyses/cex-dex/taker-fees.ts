import type { Exchange } from '../../../domain/external.ts'

/** What a taker without any discount pays, bps, as the exchanges published it: base tier of their spot books. */
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
