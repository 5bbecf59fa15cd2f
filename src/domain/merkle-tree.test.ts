import { createHash } from 'node:crypto'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { MerkleTree, rootByProof } from './merkle-tree.ts'

const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()
const hex = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString('hex')
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))

/** As the RFC defines it: by recursion, split at the largest power of two below the size. */
function naiveRoot(entries: readonly Uint8Array[]): Uint8Array {
  const [only] = entries
  if (entries.length === 1 && only !== undefined) return sha256(Buffer.from([0, ...only]))
  const half = 2 ** Math.ceil(Math.log2(entries.length) - 1)
  const [left, right] = [naiveRoot(entries.slice(0, half)), naiveRoot(entries.slice(half))]
  return sha256(Buffer.from([1, ...left, ...right]))
}

const someEntries = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 70 })

describe('a Merkle tree', () => {
  // Entries and roots of the test vectors of Certificate Transparency (RFC 6962 has the same tree).
  const vectors = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '60616263646566676869',
  ]
  test.each([
    [1, '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
    [2, 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
    [3, 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
    [7, 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
  ])('of %i known entries has the published root', (count, root) => {
    expect(hex(new MerkleTree(vectors.slice(0, count).map(bytesOf), sha256).root)).toBe(root)
  })

  property.prop([someEntries])('has the root of the recursive definition', (entries) => {
    expect(hex(new MerkleTree(entries, sha256).root)).toBe(hex(naiveRoot(entries)))
  })

  property.prop([someEntries, fc.nat()])('proves each of its entries', (entries, at) => {
    const tree = new MerkleTree(entries, sha256)
    const position = at % entries.length
    const proof = tree.proof(position)
    expect(hex(rootByProof(entries[position] as Uint8Array, proof, sha256))).toBe(hex(tree.root))
  })

  property.prop([someEntries, fc.nat(), fc.nat(), fc.uint8Array({ maxLength: 40 })])(
    'proves no other entry and no other place',
    (entries, at, elsewhere, other) => {
      const tree = new MerkleTree(entries, sha256)
      const position = at % entries.length
      const entry = entries[position] as Uint8Array
      const proof = tree.proof(position)
      if (hex(other) !== hex(entry))
        expect(hex(rootByProof(other, proof, sha256))).not.toBe(hex(tree.root))
      const moved = { ...proof, position: elsewhere % (entries.length + 2) }
      if (hex(entries[moved.position] ?? null) !== hex(entry))
        expect(hex(rootByProof(entry, moved, sha256))).not.toBe(hex(tree.root))
      expect(rootByProof(entry, { ...proof, path: [...proof.path, tree.root] }, sha256)).toBeNull()
    },
  )
})
