import { canonicalJson } from './canonical-json.ts'
import type { Claim } from './track-record.ts'

/**
 * The text of a claim whose SHA-256 is in the proof log: RFC 8785 over the members that are fixed when it is made, as
 * `/track-record/{family}/claims` publishes them. What is added when it is resolved is left out.
 */
export function claimText(claim: Claim): string {
  const { rule, coin, coinClass, madeAtMs, horizonMs, statement, reference } = claim
  const made = { rule, coin, coinClass, madeAtMs, horizonMs, statement, reference }
  // A number that JSON cannot express is published as null.
  return canonicalJson(JSON.parse(JSON.stringify(made)))
}
