import { fc, test as property } from '@fast-check/vitest'
import { expect, test, vi } from 'vitest'
import { BlockChains } from './block-chains.ts'

const KIB = 2 ** 10
/** What the memory grows by, and what of a block is content. */
const [GROWTH_BYTES, BLOCK_BYTES, CONTENT_BYTES] = [2 ** 20, 512, 504]

test('another thread reads a copy of what was written', () => {
  const { writer, reader } = chainsOf(2 ** 20)
  const first = written(writer, contentOf(7, 5_000))
  const copy = reader.read(first, 5_000)
  writer.free(first)
  written(writer, contentOf(8, 5_000))
  expect(copy).toEqual(contentOf(7, 5_000))
})

test('the beginning of a chain can be read alone', () => {
  const { writer, reader } = chainsOf(2 ** 20)
  const first = written(writer, contentOf(3, 2_000))
  for (const length of [0, 1, CONTENT_BYTES, CONTENT_BYTES + 1, 2_000])
    expect(reader.read(first, length)).toEqual(contentOf(3, 2_000).subarray(0, length))
})

test('a chain is released when its reader says so, and its blocks begin unreleased again', () => {
  const { writer, reader } = chainsOf(2 ** 20)
  const first = written(writer, contentOf(1, 10))
  expect(writer.isReleased(first)).toBe(false)
  reader.release(first)
  expect(writer.isReleased(first)).toBe(true)
  writer.free(first)
  expect(written(writer, contentOf(2, 10))).toBe(first)
  expect(writer.isReleased(first)).toBe(false)
})

test('a full memory refuses, and loses nothing', () => {
  const memory = new SharedArrayBuffer(0, { maxByteLength: 10 * BLOCK_BYTES + 100 })
  const writer = new BlockChains(memory)
  expect(writer.write(contentOf(1, 10 * CONTENT_BYTES + 1))).toBeNull()
  const half = written(writer, contentOf(2, 5 * CONTENT_BYTES))
  expect(writer.write(contentOf(3, 5 * CONTENT_BYTES + 1))).toBeNull()
  const other = written(writer, contentOf(4, 5 * CONTENT_BYTES))
  expect(writer.write(contentOf(5, 0))).toBeNull()
  expect(writer.read(half, 5 * CONTENT_BYTES)).toEqual(contentOf(2, 5 * CONTENT_BYTES))
  writer.free(half)
  writer.free(other)
  expect(writer.write(contentOf(6, 10 * CONTENT_BYTES))).not.toBeNull()
})

test('memory that the system refuses is a full memory, until the system provides it', () => {
  const { writer, memory } = chainsOf(2 ** 21)
  const content = contentOf(1, 10 * CONTENT_BYTES)
  const first = written(writer, content)
  const grow = vi.spyOn(memory, 'grow').mockImplementation(() => {
    throw new RangeError('SharedArrayBuffer.prototype.grow: Out of memory')
  })
  const half = new Uint8Array((GROWTH_BYTES / BLOCK_BYTES) * CONTENT_BYTES)
  expect(writer.write(half)).toBeNull()
  grow.mockRestore()
  written(writer, half)
  written(writer, half.subarray(content.length))
  expect(writer.write(new Uint8Array(0))).toBeNull()
  expect(writer.read(first, content.length)).toEqual(content)
})

property.prop([
  fc.array(fc.record({ length: fc.oneof(fc.nat(3_000), fc.nat(60 * KIB)), freed: fc.nat(30) }), {
    maxLength: 120,
  }),
])(
  'chains hold what separate arrays would, in the memory that the most of them needed',
  (steps) => {
    const { writer, reader, memory } = chainsOf(64 * 2 ** 20)
    const live: { readonly first: number; readonly content: Uint8Array }[] = []
    let blocksMost = 0
    for (const [at, { length, freed }] of steps.entries()) {
      const content = contentOf(at, length)
      live.push({ first: written(writer, content), content })
      blocksMost = Math.max(blocksMost, sumOf(live.map((chain) => blocksOf(chain.content.length))))
      const gone = freed < live.length ? live.splice(freed, 1)[0] : undefined
      if (gone !== undefined) writer.free(gone.first)
      for (const { first, content: expected } of live)
        expect(Buffer.compare(reader.read(first, expected.length), expected)).toBe(0)
    }
    const growths = Math.ceil((blocksMost * BLOCK_BYTES) / GROWTH_BYTES)
    expect(memory.byteLength).toBe(growths * GROWTH_BYTES)
  },
)

function chainsOf(maxByteLength: number) {
  const memory = new SharedArrayBuffer(0, { maxByteLength })
  return { memory, writer: new BlockChains(memory), reader: new BlockChains(memory) }
}

function written(chains: BlockChains, content: Uint8Array): number {
  const first = chains.write(content)
  if (first === null) throw new Error('the memory is full')
  return first
}

/** Differs from every other one in each byte. */
function contentOf(seed: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => seed + Math.floor(at / CONTENT_BYTES))
}

function blocksOf(length: number): number {
  return Math.max(1, Math.ceil(length / CONTENT_BYTES))
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
