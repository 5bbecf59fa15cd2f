import { polledSource } from '../polled-source.ts'
import { decodePackages } from './decode.ts'

/** The limit of the gateways is not published; their packages change so often. */
const PERIOD_MS = 10_000

/** Beside what the venue trades. */
const STABLECOINS = ['USDC', 'USDT'] as const

/** All feeds in one large answer: of it only what the venue trades is looked at. */
export const redstone = polledSource({
  source: 'redstone',
  path: '/v2/data-packages/latest/redstone-primary-prod',
  periodMs: PERIOD_MS,
  // Also after a failure: no mirror is asked more often.
  backOff: { minMs: PERIOD_MS, maxMs: 60_000 },
  decode: (body, nowMs, assets) =>
    decodePackages(body, nowMs, [...new Set([...assets, ...STABLECOINS])]),
})
