import { polledSource, USUAL_BACK_OFF } from '../polled-source.ts'
import { decodeFearGreed } from './decode.ts'

/**
 * The index of alternative.me, one value a day at 00:00 UTC. The day before comes along: it stands in
 * while today's value makes no sense.
 */
export const fearGreed = polledSource({
  source: 'fear-greed',
  path: '/fng/?limit=2&format=json',
  periodMs: 30 * 60_000,
  backOff: USUAL_BACK_OFF,
  decode: decodeFearGreed,
})
