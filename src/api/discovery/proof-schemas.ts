import {
  closedObject,
  countSchema,
  instantSchema,
  listOf,
  nullableSchema,
} from './described-schema.ts'
import type { JsonSchema } from './published-schema.ts'

/** SHA-256 in 64 hexadecimal digits. */
const hash: JsonSchema = { type: 'string' }

const hourMembers = {
  hour_iso: instantSchema,
  answers: countSchema('Answers that were sold in the hour.'),
  root: hash,
  chain: hash,
}

export const proofHoursSchema = closedObject({
  hours: listOf(closedObject(hourMembers)),
  next_before_iso: nullableSchema('string', 'before of the next page; null on the last one.'),
})

export const answerProofSchema = closedObject(
  {
    sha256: hash,
    state: {
      enum: ['sealed', 'open', 'unknown'],
      description:
        'unknown: not sold here. open: the hour has not ended; only sealed has the other members.',
    },
    sealed_from_iso: instantSchema,
    position: countSchema('From 0.'),
    size: countSchema('Leaves.'),
    path: listOf(hash),
    chain_before: hash,
    ...hourMembers,
  },
  {
    optional: [
      ...['sealed_from_iso', 'position', 'size', 'path', 'chain_before'],
      ...Object.keys(hourMembers),
    ],
  },
)
