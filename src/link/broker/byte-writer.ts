const INITIAL_BYTES = 64 * 1024

/** Writes little-endian numbers, strings and byte ranges into one growing buffer. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  clear(): void {
    this.#length = 0
  }

  u8(value: number): void {
    this.#reserve(1)
    this.#length = this.#buffer.writeUInt8(value, this.#length)
  }

  u16(value: number): void {
    this.#reserve(2)
    this.#length = this.#buffer.writeUInt16LE(value, this.#length)
  }

  u32(value: number): void {
    this.#reserve(4)
    this.#length = this.#buffer.writeUInt32LE(value, this.#length)
  }

  f64(value: number): void {
    this.#reserve(8)
    this.#length = this.#buffer.writeDoubleLE(value, this.#length)
  }

  /** UTF-8 with its length in front. */
  text(value: string): void {
    this.#reserve(4 + 3 * value.length)
    const length = this.#buffer.write(value, this.#length + 4, 'utf8')
    this.u32(length)
    this.#length += length
  }

  /** With the length in front. */
  bytes(value: Uint8Array): void {
    this.u32(value.length)
    this.append(value)
  }

  /** Without the length. */
  append(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#buffer.set(value, this.#length)
    this.#length += value.length
  }

  /** Writes into a place that was left free before. */
  u32At(position: number, value: number): void {
    this.#buffer.writeUInt32LE(value, position)
  }

  /** All that was written; valid until the writer is used again. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    grown.set(this.written())
    this.#buffer = grown
  }
}
