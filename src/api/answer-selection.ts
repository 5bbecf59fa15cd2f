import { createHash } from 'node:crypto'
import type { AnalysisContract } from '../domain/contract.ts'
import { viewKeyOf } from '../domain/contract.ts'
import type { Slot } from '../domain/document.ts'
import { isRecord } from '../domain/json.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import { isMark, parsedPieces, piecesOf } from './answer-pieces.ts'
import type { JsonSchema } from './discovery/published-schema.ts'
import { publishedSchema } from './discovery/published-schema.ts'
import type { Presence } from './discovery/schema-parts.ts'
import { compactOmitsAlways, hasPath, memberNames, presenceOf } from './discovery/schema-parts.ts'

/** The part of an answer that a caller requests. */
export type Selection = {
  /** Equal for equal selections of one analysis; valid inside an entity tag. */
  readonly key: string
  readonly isCompact: boolean
  /** null for all members. */
  readonly fields: Paths | null
  /** Omitted if `isCompact`. */
  readonly omits: Paths
  /** Selected members that an answer of the view may lack; `absentFields` judges them. */
  readonly conditional: readonly ConditionalPath[]
  /** Whether every answer has another selected member. */
  readonly hasCertain: boolean
}

type ConditionalPath = {
  readonly names: readonly string[]
  readonly presence: readonly Presence[]
}

/** Dotted paths as a tree; an empty map stands for everything below. */
type Paths = ReadonlyMap<string, Paths>

export const answerViews = ['full', 'compact'] as const
export const FIELDS_MAX = 32
export const FIELDS_CHARS_MAX = 1_000

/** Always included: instant and quality of the answer. */
const KEPT_ALWAYS = ['timestamp_iso', 'meta.offering', 'meta.data_age_seconds']

/** Always included at every level, so that each figure names its coin. */
const SUBJECTS = ['coin', 'token']

/** An invalid query parameter. */
export type SelectionFault = {
  readonly name: 'fields' | 'view'
  readonly rule: string
  readonly allowed: readonly string[]
  readonly didYouMean?: readonly string[]
}

/** `viewKey`: of the requested view; the default one if absent. */
type Read = (query: SelectionQuery, viewKey?: string) => Selection | SelectionFault | null

/** Raw values; null if a parameter occurs twice. */
type SelectionQuery = {
  readonly fields: string | null | undefined
  readonly view: string | null | undefined
}

/** What becomes of `fields` that the requested view does not have. */
export type AbsentFields = 'refused' | 'taken'

/**
 * Parses `fields` and `view` for one analysis; null for the full answer.
 * @param parameters those of the call, which a refusal may recommend
 */
export function selectionReader(
  contract: AnalysisContract,
  parameters: readonly string[] = queryParametersOf(contract),
  absentFields: AbsentFields = 'refused',
): Read {
  const omits = treeOf((contract.compactOmits ?? []).map((path) => path.split('.')))
  const takesView = hasCompactView(contract)
  return ({ fields, view }, viewKey = contract.defaultView) => {
    const isCompact = takesView ? compactOf(view) : false
    if (typeof isCompact !== 'boolean') return isCompact
    if (fields === undefined) {
      return isCompact ? { ...whole, key: 'compact', isCompact, omits } : null
    }
    const paths = pathsOf(fields, contract)
    if (!Array.isArray(paths)) return paths
    // An answer is charged only for members that its view has.
    if (absentFields === 'refused') {
      const absent = absentFault(contract, paths, { isCompact, viewKey, parameters })
      if (absent !== null) return absent
    }
    const tree = treeOf([...paths, ...KEPT_ALWAYS].map((path) => path.split('.')))
    const chosenPaths = pathsIn(tree).sort().join()
    const digest = createHash('sha256').update(chosenPaths).digest('base64url').slice(0, 16)
    const key = `${isCompact ? 'compact.' : ''}${digest}`
    return { key, isCompact, fields: tree, omits, ...conditionsOf(paths, contract) }
  }
}

const whole = { fields: null, conditional: [], hasCertain: true }

function conditionsOf(
  paths: readonly string[],
  { document }: Pick<AnalysisContract, 'document'>,
): Pick<Selection, 'conditional' | 'hasCertain'> {
  const schema = publishedSchema(document)
  const judged = paths.map((path) => {
    const names = path.split('.')
    return { names, presence: presenceOf(schema, names) }
  })
  const isCertain = ({ presence }: ConditionalPath) => presence.every((one) => one === 'always')
  const conditional = judged.filter((path) => !isCertain(path))
  return { conditional, hasCertain: conditional.length < paths.length }
}

/** False for an analysis that renders its own short view, such as the screener. */
export function hasCompactView({ viewParameters }: AnalysisContract): boolean {
  return viewParameters.every(({ name }) => name !== 'view')
}

/** In published order. */
export function queryParametersOf(contract: AnalysisContract): readonly string[] {
  const own = contract.viewParameters.map(({ name }) => name)
  return [...own, ...(hasCompactView(contract) ? ['view'] : []), 'fields']
}

function compactOf(raw: string | null | undefined): boolean | SelectionFault {
  const view = raw?.toLowerCase() ?? (raw === null ? null : 'full')
  if (view === 'full' || view === 'compact') return view === 'compact'
  return { name: 'view', rule: `must be one of ${answerViews.join(', ')}`, allowed: answerViews }
}

function pathsOf(
  raw: string | null,
  { document }: Pick<AnalysisContract, 'document'>,
): string[] | SelectionFault {
  const schema = publishedSchema(document)
  const paths = (raw ?? '').split(',').map((path) => path.trim())
  if (
    raw === null ||
    raw.length > FIELDS_CHARS_MAX ||
    paths.length > FIELDS_MAX ||
    paths.includes('')
  ) {
    return fieldsFault(
      `must be a comma-separated list of up to ${FIELDS_MAX} members of the answer, in up to ` +
        `${FIELDS_CHARS_MAX} characters; dots separate nested names, as in meta.quality`,
      memberNames(schema),
    )
  }
  const unknown = paths.find((path) => !hasPath(schema, path.split('.')))
  return unknown === undefined ? [...new Set(paths)] : unknownFault(schema, unknown)
}

/** Names the members at the level where the path leaves the answer. */
function unknownFault(schema: JsonSchema, path: string): SelectionFault {
  const names = path.split('.')
  const known = names.findIndex((_, at) => !hasPath(schema, names.slice(0, at + 1)))
  const above = names.slice(0, known)
  const allowed = memberNames(schema, above)
  const meant = nearestNames(names[known] ?? '', allowed)
  return {
    ...fieldsFault(`names ${shownPath(path)}, which is not a member of the answer`, allowed),
    didYouMean: meant.map((name) => [...above, name].join('.')),
  }
}

type RequestedView = {
  readonly isCompact: boolean
  readonly viewKey: string
  readonly parameters: readonly string[]
}

/** null if the requested view has all paths; whether the answer of the moment has them is judged by `absentFields`. */
function absentFault(
  contract: AnalysisContract,
  paths: readonly string[],
  { isCompact, viewKey, parameters }: RequestedView,
): SelectionFault | null {
  const isShortened = (path: string) => isCompact && isCompactOmitted(path, contract)
  const isAbsent = (path: string) =>
    isShortened(path) || isOmitted(path, contract.viewOmits?.(viewKey))
  const absent = paths.find(isAbsent)
  if (absent === undefined) return null
  const added = isShortened(absent)
    ? { name: 'view', value: 'full' }
    : parameterFor(contract, paths)
  const isAddable = added !== null && parameters.includes(added.name)
  const advice = isAddable ? `: request it with ${added.name}=${added.value}` : ''
  return fieldsFault(
    `names ${shownPath(absent)}, which is not in this answer${advice}`,
    memberNames(publishedSchema(contract.document)).filter((name) => !isAbsent(name)),
  )
}

/** The first value of one parameter, alone or with its other values, whose view has all paths. */
function parameterFor(
  contract: AnalysisContract,
  paths: readonly string[],
): { readonly name: string; readonly value: string } | null {
  for (const { name, allowed } of contract.viewParameters)
    for (const value of [...allowed, allowed.join()]) {
      const key = viewKeyOf(contract, (one) => (one === name ? value : undefined))
      if (typeof key !== 'string') continue
      const omits = contract.viewOmits?.(key)
      if (!paths.some((path) => isOmitted(path, omits))) return { name, value }
    }
  return null
}

function isOmitted(path: string, omits: readonly string[] = []): boolean {
  return omits.some((omit) => path === omit || path.startsWith(`${omit}.`))
}

function isCompactOmitted(path: string, { compactOmits }: AnalysisContract): boolean {
  const isAlways = path.split('.').some((name) => compactOmitsAlways.has(name))
  return isAlways || isOmitted(path, compactOmits)
}

function fieldsFault(rule: string, allowed: readonly string[]): SelectionFault {
  return { name: 'fields', rule, allowed }
}

const PATH_CHARS_MAX = 64

/** As much of a path as a refusal repeats. */
export function shownPath(path: string): string {
  return JSON.stringify(path.slice(0, PATH_CHARS_MAX))
}

function treeOf(paths: readonly (readonly string[])[]): Paths {
  const byName = Map.groupBy(paths, ([name = '']) => name)
  const below = Array.from(byName, ([name, found]): [string, Paths] => {
    const isWhole = found.some((path) => path.length === 1)
    return [name, isWhole ? everything : treeOf(found.map(([, ...rest]) => rest))]
  })
  return new Map(below)
}

const everything: Paths = new Map()

/** All leaves as dotted paths. */
function pathsIn(tree: Paths): string[] {
  return [...tree].flatMap(([name, below]) =>
    below.size === 0 ? [name] : pathsIn(below).map((path) => `${name}.${path}`),
  )
}

/**
 * Reduces the pieces of an answer to a selection, once per rendering. Slots stay slots and are filled on sending.
 * @param pieces text with one character per byte, and slots
 */
export function selectPieces(
  pieces: readonly (string | Slot)[],
  selection: Selection,
): readonly (string | Slot)[] {
  const { answer, slots } = parsedPieces(pieces)
  const compacted = selection.isCompact ? omitted(answer, selection.omits) : answer
  const selected = selection.fields === null ? compacted : chosen(compacted, selection.fields)
  return piecesOf(selected, slots)
}

/** Reduces an answer whose slots are filled, such as a sample. */
export function selectAnswer(answer: unknown, { isCompact, omits, fields }: Selection): unknown {
  const grouped = regrouped(answer)
  const compacted = isCompact ? omitted(grouped, omits) : grouped
  return ungrouped(fields === null ? compacted : chosen(compacted, fields))
}

/** Members that belong together: those of the freshness slot, and `sample`. */
const GROUP = '\u0001'
const groupMembers = ['data_age_seconds', 'warning', 'warnings', 'quality', 'sample']

function regrouped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(regrouped)
  if (!isRecord(value)) return value
  const members = Object.entries(value).map(([name, member]) => [name, regrouped(member)] as const)
  if (!Object.hasOwn(value, 'quality')) return Object.fromEntries(members)
  const isGrouped = ([name]: readonly [string, unknown]) => groupMembers.includes(name)
  return Object.fromEntries([
    ...members.filter((member) => !isGrouped(member)),
    [GROUP, Object.fromEntries(members.filter(isGrouped))],
  ])
}

function ungrouped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ungrouped)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      name === GROUP ? Object.entries(member as object) : [[name, ungrouped(member)]],
    ),
  )
}

function omitted(value: unknown, omits: Paths): unknown {
  if (Array.isArray(value)) return value.map((item) => omitted(item, omits))
  if (!isRecord(value)) return value
  const members: [string, unknown][] = []
  for (const [name, member] of Object.entries(value)) {
    const below = omits.get(name)
    if (compactOmitsAlways.has(name) || below?.size === 0) continue
    members.push([name, omitted(member, below ?? everything)])
  }
  return Object.fromEntries(members)
}

function chosen(value: unknown, paths: Paths): unknown {
  if (paths.size === 0) return value
  if (Array.isArray(value)) return value.map((item) => chosen(item, paths))
  if (!isRecord(value)) return value
  const members: [string, unknown][] = []
  for (const [name, member] of Object.entries(value)) {
    const isKept = SUBJECTS.includes(name) || (isMark(name) && holdsSlot(value, paths))
    const below = isKept ? everything : paths.get(name)
    if (below !== undefined) members.push([name, chosen(member, below)])
  }
  return Object.fromEntries(members)
}

/** Members that slots write; they are selected together. */
const slotMembers = [
  'data_age_seconds',
  'warning',
  'warnings',
  'quality',
  'requested_coin',
  'requested_token',
  'unit_multiplier',
]

/** An answer in another unit than the requested one must state it. */
function holdsSlot(value: Readonly<Record<string, unknown>>, paths: Paths): boolean {
  return (
    slotMembers.some((name) => paths.has(name)) ||
    SUBJECTS.some((name) => Object.hasOwn(value, name))
  )
}
