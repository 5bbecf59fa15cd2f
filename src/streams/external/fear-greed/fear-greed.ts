import { polledSource } from '../polled-source.ts'
import { decodeFearGreed } from './decode.ts'

/**
 * The Fear and Greed Index of alternative.me: one value per day, published at 00:00 UTC
 * (https://alternative.me/crypto/fear-and-greed-index/). Two days are requested, so that yesterday's value
 * is used while today's cannot be decoded.
 */
export const fearGreed = polledSource({
  source: 'fear-greed',
  path: '/fng/?limit=2&format=json',
  periodMs: 30 * 60_000,
  decode: decodeFearGreed,
})
