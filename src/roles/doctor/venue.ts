import type { Subscription } from 'rxjs'
import { of } from 'rxjs'
import { request } from 'undici'
import type { Clock } from '../../domain/clock.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { OperatingError, reasonOf } from '../../domain/errors.ts'
import { hostOf } from '../../domain/host-of.ts'
import { isRecord, parsedJson } from '../../domain/json.ts'
import type { VenueUrls } from '../../engine/engine.ts'
import { connectWebSocket } from '../system-runtime.ts'
import { fail, ok, warn } from './finding.ts'

const ANSWER_MS_MAX = 10_000
const CLOCK_ASKS = 5
/** The venue's time is up to 0.9 s old itself, and half of the reply's latency is added. The feed corrects more than this. */
const OFFSET_MS_GOOD = 2_000
/** A feed with a larger offset is degraded. */
const OFFSET_MS_MAX = 5_000
/** Of the venue, for one address. */
const WEIGHT_PER_MINUTE_MAX = 1_200
/** REST weight of a coin's history before its first answer: two requests for 1,344 and 1,200 bars. */
const COLD_WEIGHT_PER_COIN = 82
const TOO_MANY_REQUESTS = 429
const REACH_ADVICE = 'check the connection of this machine (DNS, firewall, proxy) and --source'

type Reply = { readonly status: number; readonly body: unknown; readonly date: string | null }

/** Checks requests, websocket and clock of the venue, with a weight of about 40. */
export async function checkVenue(
  { wsUrl, infoUrl }: VenueUrls,
  clock: Clock,
  weightPerMinute: number,
): Promise<readonly DoctorFinding[]> {
  const rest = await checkRest(infoUrl, clock)
  const clockFinding =
    rest.finding.status === 'fail'
      ? fail('clock', 'cannot be compared: the venue does not answer', REACH_ADVICE)
      : await checkClock(infoUrl, clock)
  const socket = await checkSocket(wsUrl, rest.coins[0] ?? 'BTC', clock)
  return [rest.finding, socket, clockFinding, checkWeight(weightPerMinute, rest.coins.length)]
}

async function checkRest(
  infoUrl: string,
  clock: Clock,
): Promise<{ readonly finding: DoctorFinding; readonly coins: readonly string[] }> {
  const check = 'venue, requests'
  const startedAtMs = clock.nowMs()
  try {
    const { status, body } = await ask(infoUrl, { type: 'meta' })
    if (status === TOO_MANY_REQUESTS) {
      const advice =
        'wait a minute; if it persists, another program with this address uses the venue'
      return {
        finding: fail(check, `${hostOf(infoUrl)} rejects requests (429)`, advice),
        coins: [],
      }
    }
    const coins = status === 200 ? coinsOf(body) : []
    if (coins.length === 0) {
      const found = `${hostOf(infoUrl)} answers ${status} without a list of perpetuals`
      return {
        finding: fail(check, found, 'check whether --source is the venue, and whether it is up'),
        coins,
      }
    }
    const tookMs = clock.nowMs() - startedAtMs
    const found = `${hostOf(infoUrl)} lists ${coins.length} traded perpetuals, in ${tookMs} ms`
    return { finding: ok(check, found), coins }
  } catch (cause) {
    return {
      finding: fail(check, `${hostOf(infoUrl)}: ${reasonOf(cause)}`, REACH_ADVICE),
      coins: [],
    }
  }
}

/** Names of those that trade. */
function coinsOf(meta: unknown): string[] {
  const universe = isRecord(meta) && Array.isArray(meta['universe']) ? meta['universe'] : []
  return universe.flatMap((row: unknown) =>
    isRecord(row) && typeof row['name'] === 'string' && row['isDelisted'] !== true
      ? [row['name']]
      : [],
  )
}

async function checkClock(infoUrl: string, clock: Clock): Promise<DoctorFinding> {
  const check = 'clock'
  const offsetsMs: number[] = []
  try {
    for (let at = 0; at < CLOCK_ASKS; at += 1) {
      const sentMs = clock.nowMs()
      const reply = await ask(infoUrl, { type: 'exchangeStatus' })
      const halfwayMs = (sentMs + clock.nowMs()) / 2
      const venueMs = timeOf(reply)
      if (venueMs !== null) offsetsMs.push(halfwayMs - venueMs)
    }
  } catch (cause) {
    return fail(check, `${hostOf(infoUrl)}: ${reasonOf(cause)}`, REACH_ADVICE)
  }
  const offsetMs = offsetsMs.toSorted((one, other) => one - other)[offsetsMs.length >> 1]
  if (offsetMs === undefined)
    return warn(
      check,
      'the venue sends no time to compare with',
      'make sure that NTP sets this clock',
    )
  const direction = offsetMs < 0 ? 'behind' : 'ahead of'
  const found = `${Math.abs(Math.round(offsetMs))} ms ${direction} the venue's`
  const advice = 'set this clock by NTP (timedatectl, chronyc tracking)'
  if (Math.abs(offsetMs) > OFFSET_MS_MAX)
    return fail(check, `${found}; the feed is degraded, and data ages are unavailable`, advice)
  return Math.abs(offsetMs) > OFFSET_MS_GOOD ? warn(check, found, advice) : ok(check, found)
}

/** The time in the reply, otherwise its Date header plus the average rounding of half a second. */
function timeOf({ body, date }: Reply): number | null {
  if (isRecord(body) && typeof body['time'] === 'number') return body['time']
  const dateMs = date === null ? Number.NaN : Date.parse(date)
  return Number.isNaN(dateMs) ? null : dateMs + 500
}

async function checkSocket(wsUrl: string, coin: string, clock: Clock): Promise<DoctorFinding> {
  const check = 'venue, websocket'
  const startedAtMs = clock.nowMs()
  try {
    await acknowledged(wsUrl, { type: 'trades', coin }, clock)
    return ok(
      check,
      `${hostOf(wsUrl)} acknowledges subscriptions, in ${clock.nowMs() - startedAtMs} ms`,
    )
  } catch (cause) {
    // Most socket errors name the host.
    const [host, reason] = [hostOf(wsUrl), reasonOf(cause)]
    return fail(check, reason.includes(host) ? reason : `${host}: ${reason}`, REACH_ADVICE)
  }
}

function acknowledged(wsUrl: string, subscription: object, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    // An invalid URL fails during the call of `subscribe`.
    let frames: Subscription | undefined
    const end = (finish: () => void) => {
      cancel()
      frames?.unsubscribe()
      finish()
    }
    const cancel = clock.after(ANSWER_MS_MAX, () =>
      end(() => reject(new OperatingError('timeout', 'no subscription was acknowledged'))),
    )
    const order = JSON.stringify({ method: 'subscribe', subscription })
    frames = connectWebSocket(wsUrl, of(order)).subscribe({
      next: (text) => {
        // Some servers greet with a text that is not JSON.
        const frame = parsedJson(text)
        if (isRecord(frame) && frame['channel'] === 'subscriptionResponse') end(resolve)
      },
      error: (cause) => end(() => reject(cause)),
    })
  })
}

function checkWeight(weightPerMinute: number, coins: number): DoctorFinding {
  const check = 'weight'
  const minutes = Math.ceil((coins * COLD_WEIGHT_PER_COIN) / weightPerMinute)
  const plan = `uses ${weightPerMinute} of the venue's ${WEIGHT_PER_MINUTE_MAX} per minute`
  const found = coins === 0 ? plan : `${plan}; a cold start of ${coins} coins takes ${minutes} min`
  if (weightPerMinute <= WEIGHT_PER_MINUTE_MAX) return ok(check, found)
  return warn(check, found, 'the venue rejects more: give a smaller --weight-per-minute')
}

async function ask(infoUrl: string, body: object): Promise<Reply> {
  const reply = await request(infoUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  })
  const text = await reply.body.text()
  const { date } = reply.headers
  return {
    status: reply.statusCode,
    body: parsedJson(text),
    date: typeof date === 'string' ? date : null,
  }
}
