import { hexToBytes, sha256, stringToBytes } from 'viem'
import { chainValue } from '../domain/answer-proof.ts'
import { rootByProof } from '../domain/merkle-tree.ts'
import type { AnswerFile } from './answer-file.ts'
import { answerText } from './answer-file.ts'
import type { CheckStep } from './check-answer.ts'
import { step } from './check-answer.ts'

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

/** Path of the proof of an answer at the service that sold it. */
export function proofPath(file: AnswerFile): string {
  return `/proof/${sha256(stringToBytes(answerText(file))).slice(2)}`
}

/**
 * Checks that an answer is among those of its hour.
 * @param status of the response for {@link proofPath}
 * @param body of that response, parsed
 */
export function checkInclusion(file: AnswerFile, status: number, body: unknown): CheckStep {
  if (status === 404) return step('inclusion', 'open', 'The service keeps no proofs.')
  const proof = (body ?? {}) as Partial<SealedProof> & { readonly state?: string }
  if (status === 200 && proof.state === 'unknown')
    return step('inclusion', 'fails', 'The service has sold no answer with this content.')
  if (status === 200 && proof.state === 'open')
    return step('inclusion', 'open', 'The hour of the sale has not ended, so it has no root yet.')
  if (status !== 200 || proof.state !== 'sealed' || !isComplete(proof))
    return step('inclusion', 'open', `The service answered ${status} without a proof.`)
  const entry = sha256(stringToBytes(answerText(file)), 'bytes')
  const path = proof.path.map(bytes)
  const root = rootByProof(entry, { ...proof, path }, hash)
  if (root === null || !isEqual(root, bytes(proof.root)))
    return step('inclusion', 'fails', 'The proof does not lead from this answer to the root.')
  const hour = { hourMs: Date.parse(proof.hour_iso), root }
  if (!isEqual(chainValue(bytes(proof.chain_before), hour, hash), bytes(proof.chain)))
    return step('inclusion', 'fails', 'The chain value is not that of this hour and root.')
  return step(
    'inclusion',
    'holds',
    `It is answer ${proof.position + 1} of ${proof.size} of the hour from ${proof.hour_iso}, whose root is ${proof.root}.`,
  )
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
