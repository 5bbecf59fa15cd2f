/** SHA-256 of bytes: 32 bytes. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array

/** The position of a leaf, and the sibling hashes on its path to the root, from the bottom up. */
export type InclusionProof = {
  readonly position: number
  readonly size: number
  readonly path: readonly Uint8Array[]
}

const LEAF = 0
const NODE = 1

/** A Merkle tree of RFC 9162, section 2.1: leaves and nodes are hashed with different prefixes. */
export class MerkleTree {
  /** The hashes of each level, from the leaves to the root. */
  readonly #levels: readonly (readonly Uint8Array[])[]

  /** @param entries at least one */
  constructor(entries: readonly Uint8Array[], sha256: Sha256) {
    let level = entries.map((entry) => leafHash(entry, sha256))
    const levels = [level]
    while (level.length > 1) {
      const below = level
      level = []
      for (let at = 0; at < below.length; at += 2) {
        const [left, right] = [below[at] as Uint8Array, below[at + 1]]
        // RFC 9162 splits at a power of two, so the last node of an odd level rises as it is.
        level.push(right === undefined ? left : nodeHash(left, right, sha256))
      }
      levels.push(level)
    }
    this.#levels = levels
  }

  get root(): Uint8Array {
    return this.#levels.at(-1)?.[0] as Uint8Array
  }

  /** @param position of an entry, from 0 */
  proof(position: number): InclusionProof {
    const path: Uint8Array[] = []
    let at = position
    for (const level of this.#levels) {
      const beside = level[at % 2 === 0 ? at + 1 : at - 1]
      if (beside !== undefined) path.push(beside)
      at = Math.floor(at / 2)
    }
    return { position, size: this.#levels[0]?.length ?? 0, path }
  }
}

/** The root that a proof leads to (RFC 9162, section 2.1.3.2); null for a proof of another length than its size asks. */
export function rootByProof(
  entry: Uint8Array,
  { position, size, path }: InclusionProof,
  sha256: Sha256,
): Uint8Array | null {
  if (!Number.isSafeInteger(position) || position < 0 || position >= size) return null
  const left = [...path]
  let hash = leafHash(entry, sha256)
  let [at, last] = [position, size - 1]
  while (last > 0) {
    if (at % 2 === 1 || at < last) {
      const beside = left.shift()
      if (beside === undefined) return null
      hash = at % 2 === 1 ? nodeHash(beside, hash, sha256) : nodeHash(hash, beside, sha256)
    }
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  return left.length === 0 ? hash : null
}

function leafHash(entry: Uint8Array, sha256: Sha256): Uint8Array {
  return prefixedHash(LEAF, [entry], sha256)
}

function nodeHash(left: Uint8Array, right: Uint8Array, sha256: Sha256): Uint8Array {
  return prefixedHash(NODE, [left, right], sha256)
}

/** Copies with `set`: spreading the bytes takes longer than hashing them. */
function prefixedHash(prefix: number, parts: readonly Uint8Array[], sha256: Sha256): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 1))
  bytes[0] = prefix
  let at = 1
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return sha256(bytes)
}
