import type { AnalysisContract } from '../../domain/contract.ts'
import type { Document } from '../../domain/document.ts'
import { viewOf, viewsOf } from '../../domain/document.ts'
import { isRecord } from '../../domain/json.ts'
import { absentFields } from '../absent-fields.ts'
import type { Selection } from '../answer-selection.ts'
import { selectionReader } from '../answer-selection.ts'
import type { JsonSchema } from '../discovery/published-schema.ts'
import { publishedSchema } from '../discovery/published-schema.ts'
import { memberNames } from '../discovery/schema-parts.ts'
import { fillDocument } from '../fill-document.ts'

const SUBJECTS = ['coin', 'token'] as const
const requestedCoins = [undefined, { ticker: 'PEPE', unitMultiplier: 1_000 }]

/**
 * Asks for every member of an answer by itself, and for those that it lacks, by a caller of its own name of the coin and
 * by one of another, in one view of each kind.
 * @returns what is wrong with what they would be sent
 */
export function unsoundParts(
  contract: AnalysisContract,
  document: Document,
  nowMs: number,
): readonly string[] {
  const kinds = new Map(
    Object.keys(viewsOf(document)).map((view) => [String(contract.viewOmits?.(view)), view]),
  )
  return [...kinds.values()].flatMap((view) => unsoundPartsOf(contract, document, view, nowMs))
}

function unsoundPartsOf(
  contract: AnalysisContract,
  document: Document,
  view: string,
  nowMs: number,
): readonly string[] {
  const answer = viewOf(document, view)
  if (answer?.kind !== 'answer') throw new Error(`${document.key} has no answer in view ${view}`)
  const read = selectionReader(contract)
  return requestedCoins.flatMap((requested) => {
    const facts = { nowMs, executionMs: 0.1, coinsAvailable: 1, requested }
    const isRefused = (selection: Selection) =>
      absentFields(document, answer, selection, facts) !== null
    const whole: unknown = JSON.parse(fillDocument(document, answer, facts).toString())
    const paths = new Set(pathsOf(whole))
    const wrong = (contract.viewOmits?.(view) ?? []).filter((path) => paths.has(path))
    if (wrong.length > 0) return [`view ${view} has ${wrong.join()}`]
    const isSold = (path: string) => {
      const selection = read({ fields: path, view: undefined }, view)
      return selection !== null && !('rule' in selection) && !isRefused(selection)
    }
    const absent = absentPaths(publishedSchema(contract.document), whole)
    const unsound = absent.filter(isSold).map((path) => `${path}: is sold, and absent`)
    const omits = contract.viewOmits?.(view) ?? []
    const unlike = absent.filter((path) => {
      const isOmitted = omits.some((omit) => `${path}.`.startsWith(`${omit}.`))
      return isSold(`meta.offering,${path}`) !== (isNamed(contract, path) && !isOmitted)
    })
    const pairs = unlike.map(
      (path) => `meta.offering,${path}: is sold or refused unlike its schema`,
    )
    const parts = [...paths].flatMap((path) => {
      const selection = read({ fields: path, view: undefined }, view)
      if (selection === null || 'rule' in selection) return [`${path}: is refused`]
      if (isRefused(selection)) return [`${path}: is refused as absent`]
      const text = fillDocument(document, answer, facts, selection).toString()
      try {
        const part: unknown = JSON.parse(text)
        const missing = new Set(pathsOf(part)).has(path) ? [] : [`${path}: is not there`]
        return [...missing, ...lostSubjects(whole, part, path)]
      } catch {
        return [`${path}: ${text.slice(0, 100)} is no JSON`]
      }
    })
    return [...unsound, ...pairs, ...parts]
  })
}

/** Whether a schema has the name: others may be misspelt keys of a map. */
function isNamed({ document }: AnalysisContract, path: string): boolean {
  const names = path.split('.')
  return memberNames(publishedSchema(document), names.slice(0, -1)).includes(names.at(-1) ?? '')
}

/** Dotted paths of all members, through lists. */
function pathsOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsOf(item, prefix))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    if (!isSelectable(name)) return []
    const path = `${prefix}${name}`
    return [path, ...pathsOf(member, `${path}.`)]
  })
}

/** Members by the schema, and keys of maps, that an answer lacks: in a list, those that all its items lack. */
function absentPaths(schema: JsonSchema, whole: unknown, above: readonly string[] = []): string[] {
  const items = [whole].flat(Number.POSITIVE_INFINITY).filter(isRecord)
  if (items.length === 0) return []
  const names = [...memberNames(schema, above), 'NOPE', 'constructor', '__proto__']
  const lacked = names.filter((name) => items.every((item) => !Object.hasOwn(item, name)))
  const had = new Set(items.flatMap((item) => Object.keys(item)).filter(isSelectable))
  const below = [...had].flatMap((name) =>
    absentPaths(
      schema,
      items.map((item) => item[name]),
      [...above, name],
    ),
  )
  return [...lacked.map((name) => [...above, name].join('.')), ...below]
}

/** No path can name others: a dot parts names. */
function isSelectable(name: string): boolean {
  return !name.includes('.') && !name.includes(',')
}

/** Where figures are left without what they are of. */
function lostSubjects(whole: unknown, part: unknown, path: string): string[] {
  if (Array.isArray(whole) && Array.isArray(part))
    return part.flatMap((item, at) => lostSubjects(whole[at], item, path))
  if (!isRecord(whole) || !isRecord(part)) return []
  const lost = SUBJECTS.filter((name) => whole[name] !== undefined && part[name] === undefined)
  const below = Object.keys(part).flatMap((name) => lostSubjects(whole[name], part[name], path))
  return [...lost.map((name) => `${path}: a part without its ${name}`), ...below]
}
