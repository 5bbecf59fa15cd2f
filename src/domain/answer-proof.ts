import type { InclusionProof, Sha256 } from './merkle-tree.ts'
import { MerkleTree } from './merkle-tree.ts'

/** What a leaf of the proof log is the SHA-256 of: the body of a sold answer, or the text of a claim. */
export const leafKinds = ['answer', 'claim'] as const
export type LeafKind = (typeof leafKinds)[number]

/** Leaves of an hour that no longer change: all, or {@link LEAVES_MAX} of a busy one. */
export type SealedHour = {
  /** Counts from 1, in the order of the chain. */
  readonly number: number
  /** Start by the clock when its leaves arrived, Unix milliseconds. A clock that was set can repeat or skip hours. */
  readonly hourMs: number
  readonly answers: number
  readonly claims: number
  /** Root of the tree over its leaves, in order of their arrival. */
  readonly root: Uint8Array
  /** {@link chainValue} */
  readonly chain: Uint8Array
}

/** A transaction on a public chain whose data are the chain value of a sealed hour. */
export type Anchor = {
  /** Days since the Unix epoch; one anchor a day. */
  readonly day: number
  /** Of the sealed hour. */
  readonly number: number
  /** CAIP-2. */
  readonly network: string
  readonly transaction: string
}

/** The anchor of an hour, and what leads from the hour to it. */
export type HourAnchor = Pick<Anchor, 'network' | 'transaction'> & {
  /** The anchored chain value. */
  readonly chain: Uint8Array
  /** The hours after the proven one, up to the anchored one: {@link chainValue} of one after the other gives `chain`. */
  readonly following: readonly Pick<SealedHour, 'hourMs' | 'root'>[]
}

/** `open`: the leaf is not sealed yet. */
export type AnswerProof =
  | { readonly state: 'open'; readonly kind: LeafKind; readonly hourMs: number }
  | {
      readonly state: 'sealed'
      readonly kind: LeafKind
      readonly hour: SealedHour
      /** Chain value of the previous hour; 32 zero bytes for the first one. */
      readonly before: Uint8Array
      readonly proof: InclusionProof
      /** null without an anchor yet. */
      readonly anchor: HourAnchor | null
    }

/** Hours that precede an instant, or a number; null for all. */
export type HoursBefore = { readonly hourMs: number } | { readonly number: number } | null

/** Which answers were sold and which claims were made, and in which hour. */
export interface AnswerProofs {
  /** @param digest of a leaf. @returns null for an unknown one */
  proofOf(digest: Uint8Array): Promise<AnswerProof | null>
  /** Sealed hours, the newest first. Hours without a leaf do not exist. */
  hours(before: HoursBefore, countMax: number): Promise<readonly SealedHour[]>
}

/** The log itself. Only `seal` seals, so neither a sale nor a free request waits for it. */
export interface ProofLog extends AnswerProofs {
  /** Adds leaves to the present hour; one that was added before is not added again. */
  add(kind: LeafKind, digests: readonly Uint8Array[]): Promise<void>
  /** Seals the hours that have ended, unless another process is doing it. */
  seal(): Promise<void>
  /**
   * Reserves the anchor of a day for one caller. @returns the hour to anchor; null if another caller has the day, or if
   * no hour was sealed since the last anchor
   */
  beginAnchor(day: number, network: string): Promise<SealedHour | null>
  /** Records the transaction, after its broadcast or a failure that may have sent it. */
  anchorSent(day: number, transaction: string): Promise<void>
  /** Its block is final. */
  anchorMined(day: number): Promise<void>
  /** The day is free again. */
  cancelAnchor(day: number): Promise<void>
  /** Reserved or sent, and not known to be mined. `transaction` is '' until it is recorded. */
  openAnchors(): Promise<readonly Anchor[]>
}

const HOUR_MS = 3_600_000

/** A leaf that arrives at the end of an hour is written by then. */
export const SEAL_DELAY_MS = 10_000
/** Proofs exist this long after their hour: the log is sealed every 15 s. */
export const SEALED_AFTER_MS = 30_000

/** Bounds the time of one step of sealing and of one proof, which builds the tree again: a few milliseconds. */
export const LEAVES_MAX = 1_024

/** Longest way from an hour to its anchor: a month of hours, or a day of 31 full trees an hour. */
export const FOLLOWING_MAX = 744

/** Number of the hour since the Unix epoch. */
export function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS)
}

/**
 * First and last hour whose leaves wait. Earlier hours have ended; a later one was shown by a clock that was set back by
 * more than an hour, and is sealed, too.
 */
export function waitingHours(nowMs: number): readonly [first: number, last: number] {
  const first = hourOf(nowMs - SEAL_DELAY_MS)
  return [first, first + 1]
}

/** Before the first hour. */
export const NO_CHAIN: Uint8Array = new Uint8Array(32)

/** The next hour of the chain. @param leaves in order of their arrival, at most {@link LEAVES_MAX}; `kind` is an index of {@link leafKinds} */
export function sealedHour(
  previous: Pick<SealedHour, 'number' | 'chain'> | undefined,
  hourMs: number,
  leaves: readonly { readonly kind: number; readonly digest: Uint8Array }[],
  sha256: Sha256,
): SealedHour {
  const { root } = new MerkleTree(
    leaves.map(({ digest }) => digest),
    sha256,
  )
  const claims = leaves.filter(({ kind }) => leafKinds[kind] === 'claim').length
  return {
    number: (previous?.number ?? 0) + 1,
    ...{ hourMs, root, claims, answers: leaves.length - claims },
    chain: chainValue(previous?.chain ?? NO_CHAIN, { hourMs, root }, sha256),
  }
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
