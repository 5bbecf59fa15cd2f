import type { Clock } from '../../../domain/clock.ts'
import { drift, noiseKey } from '../../market/noise.ts'
import { queryNumber } from '../query-number.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'
import type { World } from '../world.ts'

const DAY_MS = 86_400_000
/** The index begins. */
const FIRST_MS = Date.UTC(2018, 1, 1)
const MOOD_DAYS = 20
/** Of 0 to 100, around 50: fear and greed come in long waves with a little unrest. */
const MOOD_SPAN = 36
const UNREST_SPAN = 8

/** alternative.me: one value a day at midnight, of the seed alone. */
export function alternativeMe(world: World, clock: Clock): Upstream {
  const mood = noiseKey(world.seed, 'fear-greed', 'mood')
  const unrest = noiseKey(world.seed, 'fear-greed', 'unrest')
  const valueOn = (day: number) =>
    Math.round(50 + MOOD_SPAN * drift(mood, day / MOOD_DAYS) + UNREST_SPAN * drift(unrest, day))

  const request = ({ path, query }: UpstreamRequest): UpstreamReply => {
    if (path !== '/fng' && path !== '/fng/') return { status: 404, body: '{}' }
    const newestMs = world.newestMs('fear-greed', clock.nowMs())
    const today = Math.floor(newestMs / DAY_MS)
    const days = today - FIRST_MS / DAY_MS + 1
    const limit = queryNumber(query, 'limit', 1)
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

function classOf(value: number): string {
  if (value <= 25) return 'Extreme Fear'
  if (value <= 46) return 'Fear'
  if (value <= 54) return 'Neutral'
  return value <= 75 ? 'Greed' : 'Extreme Greed'
}
