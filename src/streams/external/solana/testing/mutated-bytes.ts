import fc from 'fast-check'

/** The bytes with some of them replaced, and possibly truncated. */
export function mutatedBytes(bytes: Buffer): fc.Arbitrary<Buffer> {
  const edit = fc.record({
    at: fc.nat({ max: bytes.length - 1 }),
    byte: fc.oneof(fc.constantFrom(0, 1, 127, 128, 255), fc.nat({ max: 255 })),
  })
  const cut = fc.option(fc.nat({ max: bytes.length }), { freq: 8 })
  return fc.tuple(fc.array(edit, { minLength: 1, maxLength: 6 }), cut).map(([edits, cutAt]) => {
    const changed = Buffer.from(bytes)
    for (const { at, byte } of edits) changed[at] = byte
    return cutAt === null ? changed : changed.subarray(0, cutAt)
  })
}
