import type { InclusionProof, Sha256 } from './merkle-tree.ts'

/** An hour of sold answers that no longer changes. */
export type SealedHour = {
  /** Start, Unix milliseconds. */
  readonly hourMs: number
  readonly answers: number
  /** Root of the tree over the SHA-256 of its answers, in order of their sale. */
  readonly root: Uint8Array
  /** {@link chainValue} */
  readonly chain: Uint8Array
}

/** `open`: the hour of the sale has not ended. */
export type AnswerProof =
  | { readonly state: 'open'; readonly hourMs: number }
  | {
      readonly state: 'sealed'
      readonly hour: SealedHour
      /** Chain value of the previous hour; 32 zero bytes for the first one. */
      readonly before: Uint8Array
      readonly proof: InclusionProof
    }

/** Which answers were sold, and in which hour. */
export interface AnswerProofs {
  /** @param digest SHA-256 of the body. @returns null for an answer that was not sold here */
  proofOf(digest: Uint8Array, nowMs: number): AnswerProof | null
  /** Sealed hours that began before `beforeMs`, the newest first. Hours without a sale do not exist. */
  hours(beforeMs: number, countMax: number, nowMs: number): readonly SealedHour[]
}

/**
 * SHA-256 of the previous chain value, the start of the hour (64-bit big-endian Unix milliseconds) and its root. A
 * reader who keeps one value detects a change of any earlier hour.
 */
export function chainValue(
  before: Uint8Array,
  { hourMs, root }: Pick<SealedHour, 'hourMs' | 'root'>,
  sha256: Sha256,
): Uint8Array {
  const time = new Uint8Array(8)
  new DataView(time.buffer).setBigUint64(0, BigInt(hourMs))
  return sha256(Uint8Array.of(...before, ...time, ...root))
}
