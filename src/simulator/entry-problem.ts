import type { TSchema } from 'typebox'
import { Errors } from 'typebox/value'

/** @returns what is wrong first with a hand-written entry, and null for a valid one */
export function entryProblem(schema: TSchema, entry: unknown): string | null {
  // For each member that is not allowed there is a second, unreadable error of the keyword `boolean`.
  const error = Errors(schema, entry).find(({ keyword }) => keyword !== 'boolean')
  if (error === undefined) return null
  const { instancePath, message, params } = error
  const member = instancePath.slice(1).replaceAll('/', '.')
  const names =
    error.keyword === 'enum' || error.keyword === 'additionalProperties'
      ? `: ${Object.values(params).flat().join(', ')}`
      : ''
  return `${member} ${message}${names}`.trimStart()
}
