import { hexToBytes, sha256, stringToBytes } from 'viem'
import { chainValue } from '../domain/answer-proof.ts'
import { rootByProof } from '../domain/merkle-tree.ts'
import { familyOf } from '../domain/track-record.ts'
import type { CheckStep } from './check-answer.ts'
import { step } from './check-answer.ts'
import type { ClaimFile } from './claim-file.ts'

/** `/proof/{sha256}` of an hour that has ended. */
type SealedProof = {
  readonly position: number
  readonly size: number
  readonly path: readonly string[]
  readonly hour_iso: string
  readonly root: string
  readonly chain_before: string
  readonly chain: string
}

const HOUR_MS = 3_600_000
/** Anchors are daily; one that no block took for a day is given up. */
const ANCHOR_LATE_MS_MAX = 48 * HOUR_MS

/** Path of the proof of an answer, or of a claim, at its service. @param text of which the log has the SHA-256 */
export function proofPath(text: string): string {
  return `/proof/${sha256(stringToBytes(text)).slice(2)}`
}

/**
 * Checks that an answer, or a claim, is among the leaves of its hour.
 * @param status of the response for {@link proofPath}
 * @param body of that response, parsed
 */
export function checkInclusion(text: string, status: number, body: unknown): CheckStep {
  if (status === 404) return step('inclusion', 'open', 'The service keeps no proofs.')
  const proof = (body ?? {}) as Partial<SealedProof> & { readonly state?: string }
  if (status === 200 && proof.state === 'unknown')
    return step('inclusion', 'open', 'The log of the service does not contain it, or has lost it.')
  if (status === 200 && proof.state === 'open')
    return step('inclusion', 'open', 'The hour is not sealed, so it has no root yet.')
  if (status !== 200 || proof.state !== 'sealed' || !isComplete(proof))
    return step('inclusion', 'open', `The service answered ${status} without a proof.`)
  const entry = sha256(stringToBytes(text), 'bytes')
  const path = proof.path.map(bytes)
  const root = rootByProof(entry, { ...proof, path }, hash)
  if (root === null || !isEqual(root, bytes(proof.root)))
    return step('inclusion', 'fails', 'The proof does not lead from this content to the root.')
  const hour = { hourMs: Date.parse(proof.hour_iso), root }
  if (!isEqual(chainValue(bytes(proof.chain_before), hour, hash), bytes(proof.chain)))
    return step('inclusion', 'fails', 'The chain value is not that of this hour and root.')
  return step(
    'inclusion',
    'holds',
    `It is leaf ${proof.position + 1} of ${proof.size} of the hour from ${proof.hour_iso}, whose root is ${proof.root}.`,
  )
}

/** {@link checkInclusion} of a claim, which must be in an hour that began before its outcome was final. */
export function checkClaim({ claim, text }: ClaimFile, status: number, body: unknown): CheckStep {
  const included = checkInclusion(text, status, body)
  if (included.verdict !== 'holds') return included
  const hourMs = Date.parse((body as SealedProof).hour_iso)
  if (hourMs >= outcomeFinalMs(claim))
    return step('inclusion', 'fails', 'The claim was added after its outcome was known.')
  const covered =
    'The statement is covered; outcome, resolvedAtMs and sequence are not covered: ' +
    'perpscope track-record --recording computes the outcome again.'
  return { ...included, text: `${included.text} The service states that hour. ${covered}` }
}

/** What a node says about the transaction of an anchor. */
export type AnchorTransaction = {
  /** CAIP-2 network of the node. */
  readonly network: string
  /** null for a transaction that the node does not know. */
  readonly data: string | null
  /** Time of its block; null without one. */
  readonly minedAtMs: number | null
}

/** The transaction that `/proof/{sha256}` names as anchor; null for none. */
export function anchorIn(body: unknown): { network: string; transaction: string } | null {
  const { anchor } = (body ?? {}) as { readonly anchor?: Partial<Anchor> | null }
  const { network, transaction } = anchor ?? {}
  return typeof network === 'string' && typeof transaction === 'string'
    ? { network, transaction }
    : null
}

/**
 * Checks that the hour of a proof leads to the data of a transaction on chain, and what its block proves about the time.
 * @param body of the response for {@link proofPath}, whose inclusion holds
 * @param found null for a proof without an anchor
 * @param claim whose proof this is; null for an answer
 */
export function checkAnchor(
  body: unknown,
  found: AnchorTransaction | null,
  claim: ClaimFile['claim'] | null,
): CheckStep {
  const { anchor, chain, hour_iso } = (body ?? {}) as SealedProof & { anchor?: Anchor | null }
  if (!isAnchor(anchor) || found === null)
    return step('anchored', 'open', 'The hour is not anchored on a chain (yet).')
  const { network, transaction } = anchor
  if (found.network !== network)
    return step('anchored', 'open', `The node is of ${found.network}, not of ${network}.`)
  if (found.data === null)
    return step('anchored', 'open', `The node does not know transaction ${transaction} (yet).`)
  const reached = anchor.following.reduce(
    (before, hour) =>
      chainValue(before, { hourMs: Date.parse(hour.hour_iso), root: bytes(hour.root) }, hash),
    bytes(chain),
  )
  if (!isEqual(reached, bytes(anchor.chain)))
    return step('anchored', 'fails', 'The following hours do not lead to the anchored value.')
  if (found.data !== `0x${anchor.chain}`)
    return step('anchored', 'fails', `Transaction ${transaction} has other data.`)
  const { minedAtMs } = found
  if (minedAtMs === null)
    return step('anchored', 'open', `Transaction ${transaction} is not in a block yet.`)
  const mined = `Transaction ${transaction} on ${network} of ${new Date(minedAtMs).toISOString()}`
  const anchoredMs = Date.parse(anchor.following.at(-1)?.hour_iso ?? hour_iso)
  if (minedAtMs > anchoredMs + HOUR_MS + ANCHOR_LATE_MS_MAX)
    return step('anchored', 'open', `${mined} is too late to prove the hour that it anchors.`)
  const isBefore = claim !== null && minedAtMs < outcomeKnownFromMs(claim)
  const made = isBefore ? ' The claim was made before its outcome was known.' : ''
  return step('anchored', 'holds', `${mined} contains the chain value ${anchor.chain}.${made}`)
}

/** A level can be touched, and an order executed, long before the horizon ends. */
function outcomeKnownFromMs(claim: ClaimFile['claim']): number {
  const isAnyTime = ['zone', 'slippage'].includes(familyOf(claim.rule))
  return isAnyTime ? claim.madeAtMs : outcomeFinalMs(claim)
}

/** The rate of a funding claim is settled at the end of its hour, before its horizon ends. */
function outcomeFinalMs({ rule, madeAtMs, horizonMs }: ClaimFile['claim']): number {
  return familyOf(rule) === 'funding'
    ? Math.ceil(madeAtMs / HOUR_MS) * HOUR_MS
    : madeAtMs + horizonMs
}

type Anchor = {
  readonly network: string
  readonly transaction: string
  readonly chain: string
  readonly following: readonly { readonly hour_iso: string; readonly root: string }[]
}

function isAnchor(anchor: Anchor | null | undefined): anchor is Anchor {
  if (typeof anchor !== 'object' || anchor === null || !Array.isArray(anchor.following))
    return false
  const isHour = (hour: Anchor['following'][number] | null) =>
    HASH.test(String(hour?.root)) && Number.isSafeInteger(Date.parse(String(hour?.hour_iso)))
  return HASH.test(String(anchor.chain)) && anchor.following.every(isHour)
}

const HASH = /^[0-9a-f]{64}$/

function isComplete(proof: Partial<SealedProof>): proof is SealedProof {
  const { path, root, chain, chain_before: before } = proof
  const hashes = [root, chain, before, ...(Array.isArray(path) ? path : [null])]
  return (
    hashes.every((text) => typeof text === 'string' && HASH.test(text)) &&
    [proof.position, proof.size].every(Number.isSafeInteger) &&
    Number.isSafeInteger(Date.parse(String(proof.hour_iso)))
  )
}

function bytes(text: string): Uint8Array {
  return hexToBytes(`0x${text}`)
}

function hash(data: Uint8Array): Uint8Array {
  return sha256(data, 'bytes')
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
