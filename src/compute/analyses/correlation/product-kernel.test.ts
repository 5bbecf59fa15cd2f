import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assembleScratch } from '../../../../test/golden/compile-scratch.ts'
import type { ProductKernel } from './product-kernel.ts'
import { plainKernel, simdKernel } from './product-kernel.ts'
import { scratchWasm } from './scratch-wasm.ts'

describe('product kernel', () => {
  test('the committed module is what its text says', async () => {
    const assembled = Buffer.from(await assembleScratch()).toString('base64')
    expect(scratchWasm).toBe(assembled)
  })

  test('this processor can run it', () => {
    expect(simdKernel()).not.toBeNull()
  })

  property.prop([shape()])('both kernels give the same bits', (given) => {
    const simd = simdKernel()
    if (simd === null) throw new Error('no SIMD on this machine')
    expect(multiplied(simd, given)).toEqual(multiplied(plainKernel(), given))
  })

  property.prop([shape()])('a product is the sum over the places', (given) => {
    const out = multiplied(plainKernel(), given)
    const { rowsA, rowsB, length, isTriangle } = given
    for (let i = 0; i < rowsA; i += 1) {
      for (let j = isTriangle ? i : 0; j < rowsB; j += 1) {
        let sum = 0
        let scale = 0
        for (let at = 0; at < length; at += 1) {
          const term =
            (value(given, i, at) ?? 0) * (value(given, isTriangle ? j : rowsA + j, at) ?? 0)
          sum += term
          scale += Math.abs(term)
        }
        expect(Math.abs((out[i * rowsB + j] ?? Number.NaN) - sum)).toBeLessThanOrEqual(
          1e-14 * scale,
        )
      }
    }
  })

  test('its memory grows with what is reserved', () => {
    const simd = simdKernel()
    expect(simd?.reserve(4)).toHaveLength(4)
    expect(simd?.reserve(1_000_000)).toHaveLength(1_000_000)
  })
})

type Shape = {
  readonly rowsA: number
  readonly rowsB: number
  readonly length: number
  readonly isTriangle: boolean
  readonly numbers: readonly number[]
}

function shape(): fc.Arbitrary<Shape> {
  return fc
    .record({
      blocksA: fc.integer({ min: 1, max: 3 }),
      pairsB: fc.integer({ min: 1, max: 5 }),
      pairsOfPlaces: fc.integer({ min: 1, max: 9 }),
      isTriangle: fc.boolean(),
      numbers: fc.array(fc.double({ min: -10, max: 10, noNaN: true }), {
        minLength: 1,
        maxLength: 97,
      }),
    })
    .map(({ blocksA, pairsB, pairsOfPlaces, isTriangle, numbers }) => ({
      rowsA: 4 * blocksA,
      rowsB: isTriangle ? 4 * blocksA : 2 * pairsB,
      length: 2 * pairsOfPlaces,
      isTriangle,
      numbers,
    }))
}

function value({ numbers, length }: Shape, row: number, at: number): number | undefined {
  return numbers[(row * length + at) % numbers.length]
}

/** `out`, with 0 where a triangle is not written. */
function multiplied(kernel: ProductKernel, given: Shape): number[] {
  const { rowsA, rowsB, length, isTriangle } = given
  const rows = isTriangle ? rowsA : rowsA + rowsB
  const room = kernel.reserve(rows * length + rowsA * rowsB)
  room.fill(0)
  for (let row = 0; row < rows; row += 1)
    for (let at = 0; at < length; at += 1) room[row * length + at] = value(given, row, at) ?? 0
  const b = isTriangle ? 0 : rowsA * length
  kernel.multiply({ a: 0, rowsA, b, rowsB, length, out: rows * length, isTriangle })
  return [...room.subarray(rows * length)]
}
