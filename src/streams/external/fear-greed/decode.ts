import { foreignList, ownMember, parseForeign } from '../foreign-json.ts'
import type { Decoded } from '../polled-source.ts'
import { isSaneTime } from '../sane.ts'

/** All days since 2018 have 300 kB. */
const BODY_CHARS_MAX = 1024 * 1024
const DAYS_MAX = 10_000
const VALUE_MAX = 100

/** `{data: [{value: "47", timestamp: "<unix s>", ...}]}`, newest first; both are strings. */
export function decodeFearGreed(body: string, nowMs: number): Decoded {
  const reply = parseForeign(body, BODY_CHARS_MAX)
  const days = foreignList(ownMember(reply, 'data'), DAYS_MAX).flatMap((row) => {
    const value = unsignedInteger(ownMember(row, 'value'))
    const timeMs = 1_000 * (unsignedInteger(ownMember(row, 'timestamp')) ?? Number.NaN)
    const isSane = value !== null && value <= VALUE_MAX && isSaneTime(timeMs, nowMs)
    return isSane ? [{ value, timeMs }] : []
  })
  const [first, ...others] = days
  if (first === undefined)
    return { events: [], findings: [{ kind: 'undecodable', detail: body.slice(0, 200) }] }
  const newest = others.reduce((one, other) => (other.timeMs > one.timeMs ? other : one), first)
  return {
    events: [
      {
        kind: 'fear-greed',
        value: newest.value,
        timeExchangeMs: newest.timeMs,
        timeReceivedMs: nowMs,
      },
    ],
    findings: [],
  }
}

function unsignedInteger(value: unknown): number | null {
  const isOne = typeof value === 'string' ? /^\d{1,12}$/.test(value) : Number.isSafeInteger(value)
  const number = isOne ? Number(value) : -1
  return number >= 0 ? number : null
}
