/** Reads what {@link ByteWriter} writes. Every method throws RangeError at the end of the bytes. */
export class ByteReader {
  readonly #buffer: Buffer
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  get left(): number {
    return this.#buffer.length - this.#position
  }

  u8(): number {
    const value = this.#buffer.readUInt8(this.#position)
    this.#position += 1
    return value
  }

  u16(): number {
    const value = this.#buffer.readUInt16LE(this.#position)
    this.#position += 2
    return value
  }

  u32(): number {
    const value = this.#buffer.readUInt32LE(this.#position)
    this.#position += 4
    return value
  }

  f64(): number {
    const value = this.#buffer.readDoubleLE(this.#position)
    this.#position += 8
    return value
  }

  text(): string {
    const length = this.count(1)
    const start = this.#position
    this.#position += length
    return this.#buffer.toString('utf8', start, this.#position)
  }

  /** A copy, so that the received buffer can be freed. */
  bytes(): Uint8Array {
    const length = this.count(1)
    const start = this.#position
    this.#position += length
    return new Uint8Array(this.#buffer.subarray(start, this.#position))
  }

  u32s(): Uint32Array {
    const values = new Uint32Array(this.count(4))
    for (let at = 0; at < values.length; at += 1) values[at] = this.u32()
    return values
  }

  /** A number of items that follow. @param bytesMin smallest size of an item, which bounds what a reader allocates */
  count(bytesMin: number): number {
    const count = this.u32()
    if (count * bytesMin > this.left) throw new RangeError(`${count} items in ${this.left} bytes`)
    return count
  }

  /** @throws RangeError for a value of `limit` or more */
  index(limit: number): number {
    const value = this.u32()
    if (value >= limit) throw new RangeError(`index ${value} of ${limit}`)
    return value
  }

  /** The next bytes, which share the memory of the read ones. */
  view(length: number): Uint8Array {
    if (length > this.left) throw new RangeError(`${length} bytes of ${this.left}`)
    const start = this.#position
    this.#position += length
    return this.#buffer.subarray(start, this.#position)
  }
}
