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
    return this.view(this.u32()).toString('utf8')
  }

  /** With their length in front. They share the memory of the read ones. */
  bytes(): Uint8Array {
    const { buffer, byteOffset, length } = this.view(this.u32())
    return new Uint8Array(buffer, byteOffset, length)
  }

  /** The next bytes, which share the memory of the read ones. */
  view(length: number): Buffer {
    if (length > this.left) throw new RangeError(`${length} bytes of ${this.left}`)
    const start = this.#position
    this.#position += length
    return this.#buffer.subarray(start, this.#position)
  }
}
