import {
  closedObject,
  countSchema,
  instantSchema,
  listOf,
  nullableSchema,
} from './described-schema.ts'
import type { JsonSchema } from './published-schema.ts'

const hash = (description: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description,
})

const hourMembers = {
  hour_iso: instantSchema,
  answers: countSchema('Answers that were sold in the hour.'),
  root: hash('Root of the tree over the SHA-256 of their bodies (RFC 9162).'),
  chain: hash('SHA-256 of chain_before, the hour as 64-bit Unix milliseconds and the root.'),
}

export const proofHoursSchema = closedObject({
  hours: listOf(closedObject(hourMembers)),
  next_before_iso: nullableSchema('string', 'before of the next page; null on the last one.'),
})

export const answerProofSchema: JsonSchema = {
  anyOf: [
    closedObject({ sha256: hash('Hash of the body.'), state: { const: 'unknown' } }),
    closedObject({
      sha256: hash('Hash of the body.'),
      state: { const: 'open' },
      sealed_from_iso: instantSchema,
    }),
    closedObject({
      sha256: hash('Hash of the body.'),
      state: { const: 'sealed' },
      position: countSchema('Of the answer in its hour, from 0.'),
      size: countSchema('Number of leaves.'),
      path: listOf(hash('Hash beside the way to the root, from the bottom up.')),
      chain_before: hash('Chain value of the previous hour; zeros for the first one.'),
      ...hourMembers,
    }),
  ],
  description:
    'unknown: no answer with this hash was sold here. open: the hour of the sale has not ended; ask again from sealed_from_iso.',
}
