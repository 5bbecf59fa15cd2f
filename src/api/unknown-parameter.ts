import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { nearestNames } from '../domain/nearest-names.ts'
import type { Refusal } from './send-problem.ts'
import { refusal, sendProblem } from './send-problem.ts'

/** What others add to a link: those who count clicks, and caches that are told to fetch again. */
const IGNORED = /^(utm_.*|_)$/
/** A detail repeats no more of a name: a caller may have sent 16 KB of it. */
const NAME_CHARS_MAX = 64

/** Whether a query parameter changes nothing, whatever its value. */
function isIgnored(name: string): boolean {
  return IGNORED.test(name)
}

/**
 * Refuses the first parameter that is not known: a misspelled one would buy something else than what was meant.
 * null where all of them are known.
 */
export function unknownParameter(
  names: readonly string[],
  known: readonly string[],
): Refusal | null {
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return null
  const param = unknown.slice(0, NAME_CHARS_MAX)
  const takes = known.length === 0 ? 'no parameters' : known.join(', ')
  return refusal('unknown_parameter', {
    detail: `The parameter ${JSON.stringify(param)} is unknown; this call takes ${takes}.`,
    param,
    allowed: known,
    didYouMean: nearestNames(unknown, known),
  })
}

/** The same of a query. */
export function unknownQueryParameter(query: unknown, known: readonly string[]): Refusal | null {
  const names = Object.keys(query as object).filter((name) => !isIgnored(name))
  return unknownParameter(names, known)
}

/** For a path that takes no parameters. */
export function refuseParameters(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const refused = unknownQueryParameter(request.query, [])
  if (refused === null) done()
  else sendProblem(reply, refused.code, refused.facts)
}
