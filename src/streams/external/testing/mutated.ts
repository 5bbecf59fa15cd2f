import fc from 'fast-check'

/** A body with some of its characters lost, doubled, swapped for digits or signs, or cut off. */
export function mutated(body: string): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.nat({ max: Math.max(0, body.length - 1) }),
    drop: fc.nat({ max: 3 }),
    insert: fc.constantFrom(
      '',
      '0',
      '9',
      '-',
      '.',
      'e',
      'e9',
      '"',
      ',',
      '{',
      '}',
      '[',
      ']',
      'null',
      '00000',
    ),
  })
  const cut = fc.option(fc.nat({ max: body.length }), { freq: 6 })
  return fc.tuple(fc.array(edit, { minLength: 1, maxLength: 4 }), cut).map(([edits, cutAt]) => {
    let text = body
    for (const { at, drop, insert } of edits)
      text = text.slice(0, at) + insert + text.slice(at + drop)
    return cutAt === null ? text : text.slice(0, cutAt)
  })
}
