import { closedObject, listOf, nullableSchema } from './described-schema.ts'
import type { JsonSchema } from './published-schema.ts'

/** SHA-256 in 64 hexadecimal digits. */
const hash: JsonSchema = { type: 'string' }
const count: JsonSchema = { type: 'integer' }
const instant: JsonSchema = { type: 'string', format: 'date-time' }

const hourMembers = {
  number: count,
  hour_iso: instant,
  answers: count,
  claims: count,
  root: hash,
  chain: hash,
}

export const proofHoursSchema = closedObject({
  hours: listOf(closedObject(hourMembers)),
  next_before: nullableSchema('integer', 'before of the next page; null on the last one.'),
  next_before_iso: nullableSchema('string', 'As an instant.'),
})

export const answerProofSchema = closedObject(
  {
    sha256: hash,
    state: {
      enum: ['sealed', 'open', 'unknown'],
      description: 'unknown: not in the log. open: the hour is not sealed.',
    },
    kind: { enum: ['answer', 'claim'] },
    sealed_from_iso: instant,
    position: count,
    size: count,
    path: listOf(hash),
    chain_before: hash,
    ...hourMembers,
    anchor: {
      type: ['object', 'null'],
      description: 'Transaction whose data are the chain of a following hour.',
    },
  },
  {
    optional: [
      ...['kind', 'sealed_from_iso', 'position', 'size', 'path', 'chain_before', 'anchor'],
      ...Object.keys(hourMembers),
    ],
  },
)
