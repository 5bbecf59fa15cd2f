import { claimText } from '../domain/claim-text.ts'
import type { Claim } from '../domain/track-record.ts'
import { jsonFault } from './json-fault.ts'

/** A claim as `/track-record/{family}/claims` gives it, and the text of it that the proof log knows. */
export type ClaimFile = {
  readonly claim: Pick<Claim, 'rule' | 'madeAtMs' | 'horizonMs'>
  readonly text: string
}

/** @returns null for anything else than one claim that every reader takes for the same */
export function readClaimFile(text: string): ClaimFile | null {
  try {
    const claim = JSON.parse(text) as Partial<Claim> | null
    const isClaim =
      typeof claim?.rule === 'string' &&
      typeof claim.coin === 'string' &&
      Number.isSafeInteger(claim.madeAtMs) &&
      Number.isSafeInteger(claim.horizonMs) &&
      typeof claim.statement === 'object'
    return isClaim && jsonFault(text) === null
      ? { claim: claim as Claim, text: claimText(claim as Claim) }
      : null
  } catch {
    return null
  }
}
