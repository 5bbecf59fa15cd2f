import { scratchWasm } from './scratch-wasm.ts'

/**
 * Multiplies rows of numbers that lie in its own memory. `out[i][j]` is the sum over k of `a[i][k] * b[j][k]`,
 * even and odd places summed apart and then together, so that every kernel gives the same bits.
 */
export type ProductKernel = {
  /** @returns `count` numbers of its memory, aligned; what they were before is undefined. */
  reserve(count: number): Float64Array
  multiply(product: Product): void
}

/** Offsets are places in the reserved numbers; a, b and out lie apart, except that a may be b. */
type Product = {
  /** Even, as the other offsets. */
  readonly a: number
  /** A multiple of four, at least four. */
  readonly rowsA: number
  readonly b: number
  /** A multiple of two, at least two; the number of columns of `out`. */
  readonly rowsB: number
  /** Of every row: even, at least two. */
  readonly length: number
  readonly out: number
  /** a is b: only right of the diagonal, and in the blocks that touch it, `out` is written. */
  readonly isTriangle: boolean
}

/** In WebAssembly, two numbers at a time (`scratch.wat`); null where the processor cannot do that. */
export function simdKernel(): ProductKernel | null {
  const bytes = Uint8Array.from(Buffer.from(scratchWasm, 'base64'))
  if (!WebAssembly.validate(bytes)) return null
  const { memory, multiply } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
  return {
    reserve(count) {
      const lacking = count * BYTES - memory.buffer.byteLength
      if (lacking > 0) memory.grow(Math.ceil(lacking / PAGE_BYTES))
      return new Float64Array(memory.buffer, 0, count)
    },
    multiply({ a, rowsA, b, rowsB, length, out, isTriangle }) {
      multiply(a * BYTES, rowsA, b * BYTES, rowsB, length, out * BYTES, isTriangle ? 1 : 0)
    },
  }
}

/** Where there is no such WebAssembly: about six times slower. */
export function plainKernel(): ProductKernel {
  let room = new Float64Array()
  return {
    reserve(count) {
      if (room.length < count) room = new Float64Array(count)
      return room.subarray(0, count)
    },
    multiply({ a, rowsA, b, rowsB, length, out, isTriangle }) {
      for (let i = 0; i < rowsA; i += 1) {
        const fromA = a + i * length
        for (let j = isTriangle ? i - (i % ROWS_PER_BLOCK) : 0; j < rowsB; j += 1)
          room[out + i * rowsB + j] = dot(room, fromA, b + j * length, length)
      }
    },
  }
}

const BYTES = Float64Array.BYTES_PER_ELEMENT
const PAGE_BYTES = 65_536
const ROWS_PER_BLOCK = 4

function dot(room: Float64Array, fromA: number, fromB: number, length: number): number {
  let even = 0
  let odd = 0
  for (let at = 0; at < length; at += 2) {
    even += (room[fromA + at] as number) * (room[fromB + at] as number)
    odd += (room[fromA + at + 1] as number) * (room[fromB + at + 1] as number)
  }
  return even + odd
}

/** The part of the global object that is used here; Node's types leave it out. */
declare const WebAssembly: {
  validate(bytes: Uint8Array): boolean
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: {
      readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number }
      multiply(
        a: number,
        rowsA: number,
        b: number,
        rowsB: number,
        length: number,
        out: number,
        isTriangle: number,
      ): void
    }
  }
}
