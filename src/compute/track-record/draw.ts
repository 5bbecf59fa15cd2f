import type { RuleId } from '../../domain/track-record.ts'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** One hour in this many has a claim. */
const HOURS_PER_CLAIM = 4
const QUARTERS_PER_HOUR = 4

/** What is claimed in an hour: in which quarter of it, and which item where a rule has several. */
export type Draw = {
  /** 0 to 3: the claim is made 0, 15, 30 or 45 minutes after the hour. */
  readonly quarter: number
  /** 0 to 2^28 - 1. */
  readonly item: number
}

/**
 * Whether a rule makes a claim about a coin in an hour. It is fixed by a hash, so that nobody chooses what is recorded:
 * FNV-1a (32 bit) over the UTF-8 bytes of `rule|coin|hour`, then the finaliser of MurmurHash3, because FNV alone hardly
 * mixes the last character. From the lowest bit: two bits that are 0 for a claim, two for the quarter, the rest for the
 * item.
 * @param prefix {@link drawPrefix} of rule and coin
 * @param hour number of the hour since the Unix epoch
 */
export function drawOf(prefix: number, hour: number): Draw | null {
  const digits = String(hour)
  let state = prefix
  for (let at = 0; at < digits.length; at += 1)
    state = Math.imul(state ^ digits.charCodeAt(at), FNV_PRIME)
  const hash = mixed(state >>> 0)
  if (hash % HOURS_PER_CLAIM !== 0) return null
  const rest = Math.floor(hash / HOURS_PER_CLAIM)
  return { quarter: rest % QUARTERS_PER_HOUR, item: Math.floor(rest / QUARTERS_PER_HOUR) }
}

/** Hash of `rule|coin|`: it is the same in every hour. */
export function drawPrefix(rule: RuleId, coin: string): number {
  return fnv1a(`${rule}|${coin}|`)
}

const encoder = new TextEncoder()

/** 32-bit FNV-1a of the UTF-8 bytes of a text. */
export function fnv1a(text: string): number {
  let hash = FNV_OFFSET
  for (const byte of encoder.encode(text)) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return hash >>> 0
}

/** `fmix32` of MurmurHash3. */
function mixed(hash: number): number {
  let mixing = hash
  mixing = Math.imul(mixing ^ (mixing >>> 16), 0x85ebca6b)
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35)
  return (mixing ^ (mixing >>> 16)) >>> 0
}
