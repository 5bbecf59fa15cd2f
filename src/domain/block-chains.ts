/** A block begins with the number of the next one of its chain and, in the first, with whether the chain is released. */
const BLOCK_BYTES = 512
const HEAD_BYTES = 8
const CONTENT_BYTES = BLOCK_BYTES - HEAD_BYTES
const BLOCK_WORDS = BLOCK_BYTES / Int32Array.BYTES_PER_ELEMENT
const NONE = -1
const GROWTH_BLOCKS = 2_048

/**
 * Byte strings in shared memory that never moves, each in a chain of equal blocks: whatever is freed serves every later
 * length, so the memory has no holes. One thread writes and frees; another one reads, and releases what it has read.
 */
export class BlockChains {
  readonly #memory: SharedArrayBuffer
  // Without a length, so that they grow with the memory.
  readonly #bytes: Uint8Array
  readonly #words: Int32Array
  #firstFree = NONE
  #freeBlocks = 0

  /** @param memory growable and empty, or written by the other thread */
  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory
    this.#bytes = new Uint8Array(memory)
    this.#words = new Int32Array(memory)
  }

  /** @returns the number of the first block; null if the memory cannot grow enough */
  write(content: Uint8Array): number | null {
    const blocks = Math.max(1, Math.ceil(content.length / CONTENT_BYTES))
    while (this.#freeBlocks < blocks) if (!this.#grow()) return null
    // Free blocks are a chain already.
    const first = this.#firstFree
    let last = first
    for (let at = 0; ; at += CONTENT_BYTES) {
      this.#bytes.set(content.subarray(at, at + CONTENT_BYTES), contentAt(last))
      if (at + CONTENT_BYTES >= content.length) break
      last = this.#next(last)
    }
    this.#firstFree = this.#next(last)
    this.#freeBlocks -= blocks
    this.#words[last * BLOCK_WORDS] = NONE
    Atomics.store(this.#words, first * BLOCK_WORDS + 1, 0)
    return first
  }

  /** A copy of the first bytes of a chain. */
  read(first: number, length: number): Uint8Array<ArrayBuffer> {
    const content = new Uint8Array(length)
    let block = first
    for (let at = 0; at < length; at += CONTENT_BYTES) {
      const from = contentAt(block)
      content.set(this.#bytes.subarray(from, from + Math.min(CONTENT_BYTES, length - at)), at)
      block = this.#next(block)
    }
    return content
  }

  /** Lets the writer free a chain. It must not be read afterwards. */
  release(first: number): void {
    Atomics.store(this.#words, first * BLOCK_WORDS + 1, 1)
  }

  isReleased(first: number): boolean {
    return Atomics.load(this.#words, first * BLOCK_WORDS + 1) === 1
  }

  free(first: number): void {
    let last = first
    let blocks = 1
    for (let next = this.#next(last); next !== NONE; next = this.#next(last)) {
      last = next
      blocks += 1
    }
    this.#words[last * BLOCK_WORDS] = this.#firstFree
    this.#firstFree = first
    this.#freeBlocks += blocks
  }

  #next(block: number): number {
    return this.#words[block * BLOCK_WORDS] ?? NONE
  }

  #grow(): boolean {
    const { byteLength, maxByteLength } = this.#memory
    const from = byteLength / BLOCK_BYTES
    const blocks = Math.min(GROWTH_BLOCKS, Math.floor(maxByteLength / BLOCK_BYTES) - from)
    if (blocks <= 0) return false
    try {
      this.#memory.grow((from + blocks) * BLOCK_BYTES)
    } catch {
      // The address space is reserved, but the system does not provide more memory now.
      return false
    }
    for (let at = 0; at < blocks; at += 1)
      this.#words[(from + at) * BLOCK_WORDS] = at + 1 < blocks ? from + at + 1 : this.#firstFree
    this.#firstFree = from
    this.#freeBlocks += blocks
    return true
  }
}

function contentAt(block: number): number {
  return block * BLOCK_BYTES + HEAD_BYTES
}
