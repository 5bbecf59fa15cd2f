import { isPlausibleTime } from '../plausible.ts'
import type { DecodedReply } from '../polled-source.ts'
import { undecodableReply } from '../polled-source.ts'
import { ownMember, parseUntrusted, untrustedList } from '../untrusted-json.ts'

/** The complete history since 2018 is 300 kB. */
const BODY_CHARS_MAX = 1024 * 1024
const DAYS_MAX = 10_000
const VALUE_MAX = 100

/** `{data: [{value: "47", timestamp: "<unix s>", ...}]}`, newest first; both are strings. */
export function decodeFearGreed(body: string, nowMs: number): DecodedReply {
  const reply = parseUntrusted(body, BODY_CHARS_MAX)
  const days = untrustedList(ownMember(reply, 'data'), DAYS_MAX).flatMap((row) => {
    const value = unsignedInteger(ownMember(row, 'value'))
    const timeMs = 1_000 * (unsignedInteger(ownMember(row, 'timestamp')) ?? Number.NaN)
    const isValid = value !== null && value <= VALUE_MAX && isPlausibleTime(timeMs, nowMs)
    return isValid ? [{ value, timeMs }] : []
  })
  const [first, ...others] = days
  if (first === undefined) return undecodableReply(body)
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
    issues: [],
  }
}

function unsignedInteger(value: unknown): number | null {
  const isInteger =
    typeof value === 'string' ? /^\d{1,12}$/.test(value) : Number.isSafeInteger(value)
  const number = isInteger ? Number(value) : -1
  return number >= 0 ? number : null
}
