import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { nearestNames } from '../domain/nearest-names.ts'
import type { Refusal } from './send-problem.ts'
import { refusal, sendRefusal } from './send-problem.ts'

/** Added to links by click counters and cache busters. */
const IGNORED = /^(utm_.*|_)$/
/** A detail repeats at most this much of a name: a caller may send 16 KB. */
const NAME_CHARS_MAX = 64

/** Refuses the first unknown parameter: a misspelt one would buy another answer. null if all are known. */
export function unknownParameter(
  names: readonly string[],
  known: readonly string[],
): Refusal | null {
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return null
  const param = unknown.slice(0, NAME_CHARS_MAX)
  const parameters = known.length === 0 ? 'none' : known.join(', ')
  return refusal('unknown_parameter', {
    detail: `Unknown parameter ${JSON.stringify(param)}. Parameters of this call: ${parameters}.`,
    param,
    allowed: known,
    didYouMean: nearestNames(unknown, known),
  })
}

/** `unknownParameter` of a query string. */
export function unknownQueryParameter(query: unknown, known: readonly string[]): Refusal | null {
  const names = Object.keys(query as object).filter((name) => !IGNORED.test(name))
  return unknownParameter(names, known)
}

/** Hook of a path without parameters. */
export function refuseParameters(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const refused = unknownQueryParameter(request.query, [])
  if (refused === null) done()
  else sendRefusal(reply, refused)
}
