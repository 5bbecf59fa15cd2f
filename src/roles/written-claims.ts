import type { TObject, TSchema } from 'typebox'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { OperatingError } from '../domain/errors.ts'
import { parsedJson } from '../domain/json.ts'
import type { ResolvedClaim, RuleId, Statement } from '../domain/track-record.ts'
import {
  claimFamilies,
  claimName,
  coinClasses,
  familyOf,
  formOfFamily,
  quantileLevels,
  voidReasons,
} from '../domain/track-record.ts'
import { readText } from '../store/candle-file.ts'

type Form = Statement['form']

const Probability = Type.Number({ minimum: 0, maximum: 1 })
const Quantiles = Type.Array(Type.Number(), {
  minItems: quantileLevels.length,
  maxItems: quantileLevels.length,
})
const statements: Readonly<Record<Form, Record<string, TSchema>>> = {
  event: { probability: Probability, control: Type.Union([Probability, Type.Null()]) },
  quantiles: { values: Quantiles, control: Quantiles },
  rank: { score: Type.Number(), control: Type.Number() },
}

const Void = Type.Object({ kind: Type.Literal('void'), reason: Type.Enum(voidReasons) })
const Value = Type.Object({ kind: Type.Literal('value'), value: Type.Number() })
const outcomes: Readonly<Record<Form, TObject>> = {
  event: Type.Object({
    kind: Type.Literal('event'),
    happened: Type.Boolean(),
    controlHappened: Type.Union([Type.Boolean(), Type.Null()]),
  }),
  quantiles: Value,
  rank: Value,
}

/** What decides the form of the other members. */
const Head = Compile(
  Type.Object({
    rule: Type.String({ pattern: `^(${claimFamilies.join('|')})\\.[^@]+@\\d+$` }),
    outcome: Type.Object({ kind: Type.String() }),
  }),
)

function checkOf(form: Form, outcome: TObject) {
  return Compile(
    Type.Object({
      coin: Type.String({ minLength: 1 }),
      coinClass: Type.Enum(coinClasses),
      madeAtMs: Type.Integer({ minimum: 0, maximum: Date.UTC(2100, 0) }),
      horizonMs: Type.Number({ exclusiveMinimum: 0 }),
      statement: Type.Object({ form: Type.Literal(form), ...statements[form] }),
      // A number that JSON cannot express is null.
      reference: Type.Array(Type.Union([Type.Number(), Type.Null()])),
      resolvedAtMs: Type.Number(),
      outcome,
    }),
  )
}

const forms = ['event', 'quantiles', 'rank'] as const satisfies readonly Form[]
const checks = Object.fromEntries(
  forms.map((form) => [
    form,
    { observed: checkOf(form, outcomes[form]), void: checkOf(form, Void) },
  ]),
) as Record<Form, Record<'observed' | 'void', ReturnType<typeof checkOf>>>

/**
 * Claims with their outcomes, one JSON object a line. One that is in the file twice counts once.
 * @throws OperatingError for a file without claims and for a line of another form, which it names
 */
export function* writtenClaims(path: string): Generator<ResolvedClaim> {
  const text = readText(path).replace(/^\uFEFF/, '')
  const names = new Set<string>()
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const read = parsedJson(line)
    const fault = faultOf(read)
    if (fault !== null) {
      const cause = pageFault(read ?? parsedJson(text)) ?? fault
      throw new OperatingError('claims_file', `${path}: line ${at + 1}: ${cause}`)
    }
    const claim = read as ResolvedClaim
    const known = names.size
    if (names.add(claimName(claim)).size > known) yield claim
  }
  if (names.size === 0) throw new OperatingError('no_claims', `${path} has no claims`)
}

/** Why this is not a claim with its outcome; null if it is one. */
function faultOf(read: unknown): string | null {
  if (read === undefined) return 'not JSON'
  if (read === null || typeof read !== 'object') return 'not a claim: must be object'
  if (!('outcome' in read) && 'rule' in read) return 'a claim without an outcome: leave it out'
  if (!Head.Check(read)) return firstFault(Head.Errors(read))
  const { observed, void: unobserved } = checks[formOfFamily[familyOf(read.rule as RuleId)]]
  const check = read.outcome.kind === 'void' ? unobserved : observed
  return check.Check(read) ? null : firstFault(check.Errors(read))
}

type SchemaFault = ReturnType<typeof Head.Errors>[number]

function firstFault(faults: readonly SchemaFault[]): string {
  // Members of another form are absent because the form is another.
  const fault = faults.find(({ keyword }) => keyword === 'const') ?? faults[0]
  if (fault === undefined) return 'not a claim'
  const { instancePath, message, params } = fault
  const wanted = 'allowedValue' in params ? ` ${JSON.stringify(params.allowedValue)}` : ''
  return `not a claim: ${[instancePath.slice(1).replaceAll('/', '.'), message].join(' ').trim()}${wanted}`
}

/** What to do with claims that are not one a line; null for anything else. */
function pageFault(read: unknown): string | null {
  if (Array.isArray(read)) return "an array: write its claims one a line, as by jq -c '.[]'"
  if (read === null || typeof read !== 'object' || !('claims' in read)) return null
  return "a page of claims: write them one a line, as by jq -c '.claims[]'"
}
