import type { Clock } from '../../../domain/clock.ts'
import { drift, noiseKey } from '../../market/noise.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'

const DAY_MS = 86_400_000
/** First day of the index. */
const FIRST_MS = Date.UTC(2018, 1, 1)
const CYCLE_DAYS = 20
/** The index moves around 50 in long cycles with daily noise. */
const CYCLE_SPAN = 36
const NOISE_SPAN = 8

/** alternative.me: one value per day, which depends on the seed only. */
export function alternativeMe(reference: ReferencePrices, clock: Clock): Upstream {
  const cycle = noiseKey(reference.seed, 'fear-greed', 'mood')
  const noise = noiseKey(reference.seed, 'fear-greed', 'unrest')
  const valueOn = (day: number) =>
    Math.round(50 + CYCLE_SPAN * drift(cycle, day / CYCLE_DAYS) + NOISE_SPAN * drift(noise, day))

  const request = ({ path, query }: UpstreamRequest): UpstreamReply => {
    if (path !== '/fng' && path !== '/fng/') return { status: 404, body: '{}' }
    const newestMs = reference.newestMs('fear-greed', clock.nowMs())
    const today = Math.floor(newestMs / DAY_MS)
    const days = today - FIRST_MS / DAY_MS + 1
    const limit = limitOf(query)
    const data = Array.from({ length: limit === 0 ? days : Math.min(limit, days) }, (_, back) => {
      const value = valueOn(today - back)
      return {
        value: String(value),
        value_classification: classOf(value),
        timestamp: String(((today - back) * DAY_MS) / 1_000),
        ...(back === 0 && {
          time_until_update: String(Math.ceil(((today + 1) * DAY_MS - newestMs) / 1_000)),
        }),
      }
    })
    const body = { name: 'Fear and Greed Index', data, metadata: { error: null } }
    return { status: 200, body: JSON.stringify(body) }
  }
  return { request }
}

/** 1 by default; 0 requests all days. */
function limitOf(query: URLSearchParams): number {
  const limit = query.get('limit')
  return limit !== null && /^\d{1,12}$/.test(limit) ? Number(limit) : 1
}

function classOf(value: number): string {
  if (value <= 25) return 'Extreme Fear'
  if (value <= 46) return 'Fear'
  if (value <= 54) return 'Neutral'
  return value <= 75 ? 'Greed' : 'Extreme Greed'
}
