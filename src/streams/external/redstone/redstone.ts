import { polledSource } from '../polled-source.ts'
import { decodePackages } from './decode.ts'

/** The gateways publish new packages this often; their rate limit is not documented. */
const PERIOD_MS = 10_000

/** Nodes sign every 10 s; an address that repeats older packages is stuck. */
const LATE_MS = 60_000

const STABLECOINS = ['USDC', 'USDT'] as const

/** RedStone's gateways answer with all feeds; only stablecoins and the venue's assets are decoded. */
export const redstone = polledSource({
  source: 'redstone',
  path: '/v2/data-packages/latest/redstone-primary-prod',
  periodMs: PERIOD_MS,
  retryMsMin: PERIOD_MS,
  lateMs: LATE_MS,
  decode: (body, nowMs, assets) =>
    decodePackages(body, nowMs, [...new Set([...assets, ...STABLECOINS])]),
})
