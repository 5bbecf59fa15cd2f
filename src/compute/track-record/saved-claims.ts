import type {
  Claim,
  ClaimOutcome,
  ResolvedClaim,
  RuleId,
  Statement,
} from '../../domain/track-record.ts'
import { coinClasses, quantileLevels, voidReasons } from '../../domain/track-record.ts'
import { charactersOf, joinSections, splitSections, textOf } from '../market/saved-sections.ts'
import { fnv1a } from './draw.ts'
import { rules } from './rules.ts'

const HEADER_FIELDS = 5
const forms = ['event', 'quantiles', 'rank'] as const satisfies Statement['form'][]
const LEVELS = quantileLevels.length

const RESOLVED_SECTIONS = 5
const RESOLVED_FIELDS = 8
const outcomeKinds = ['void', 'event', 'value'] as const satisfies ClaimOutcome['kind'][]

/** Rules by the hash of their id: an open claim of a rule that is gone cannot be resolved and is left out. */
const idByHash = new Map(rules.map(({ id }) => [fnv1a(id), id]))

/** Open claims of one coin as numbers. */
export function claimsToNumbers(claims: readonly Claim[]): Float64Array {
  return joinSections(
    claims.flatMap(({ rule, coinClass, madeAtMs, horizonMs, statement, reference }) => [
      [
        fnv1a(rule),
        coinClasses.indexOf(coinClass),
        madeAtMs,
        horizonMs,
        forms.indexOf(statement.form),
      ],
      statementNumbers(statement),
      reference,
    ]),
  )
}

/** @returns null for numbers of another layout */
export function claimsFromNumbers(coin: string, saved: Float64Array): readonly Claim[] | null {
  const sections = splitSections(saved)
  if (sections === null || sections.length % 3 !== 0) return null
  const claims: Claim[] = []
  for (let at = 0; at < sections.length; at += 3) {
    const [header, stated, reference] = sections.slice(at, at + 3)
    if (header?.length !== HEADER_FIELDS || !stated || !reference) return null
    const [hash = 0, classAt = 0, madeAtMs = 0, horizonMs = 0, formAt = 0] = header
    const rule = idByHash.get(hash)
    const coinClass = coinClasses[classAt]
    const statement = statementOf(forms[formAt], stated)
    if (coinClass === undefined || statement === null) return null
    if (rule === undefined) continue
    // In the order of a new claim, so that a restart changes no byte of its JSON.
    const made = { rule, horizonMs, coinClass, coin, madeAtMs }
    claims.push({ ...made, statement, reference: [...reference] })
  }
  return claims
}

/** Resolved claims of all coins, with the names of rule and coin: history stores those of a removed rule as well. */
export function resolvedToNumbers(claims: readonly ResolvedClaim[]): Float64Array {
  return joinSections(
    claims.flatMap((claim) => [
      charactersOf(claim.rule),
      charactersOf(claim.coin),
      [
        ...[coinClasses.indexOf(claim.coinClass), claim.madeAtMs, claim.horizonMs],
        ...[forms.indexOf(claim.statement.form), claim.resolvedAtMs],
        ...outcomeNumbers(claim.outcome),
      ],
      statementNumbers(claim.statement),
      claim.reference,
    ]),
  )
}

/** @returns null for numbers of another layout */
export function resolvedFromNumbers(saved: Float64Array): ResolvedClaim[] | null {
  const sections = splitSections(saved)
  if (sections === null || sections.length % RESOLVED_SECTIONS !== 0) return null
  const claims: ResolvedClaim[] = []
  for (let at = 0; at < sections.length; at += RESOLVED_SECTIONS) {
    const [rule, coin, facts, stated, reference] = sections.slice(at, at + RESOLVED_SECTIONS)
    if (!rule || !coin || facts?.length !== RESOLVED_FIELDS || !stated || !reference) return null
    const [classAt = 0, madeAtMs = 0, horizonMs = 0, formAt = 0, resolvedAtMs = 0] = facts
    const coinClass = coinClasses[classAt]
    const statement = statementOf(forms[formAt], stated)
    const outcome = outcomeOf(facts.subarray(RESOLVED_FIELDS - 3))
    if (coinClass === undefined || statement === null || outcome === null) return null
    // The same order.
    claims.push({
      ...{ rule: textOf(rule) as RuleId, horizonMs, coinClass },
      ...{ coin: textOf(coin), madeAtMs, statement, reference: [...reference] },
      ...{ resolvedAtMs, outcome },
    })
  }
  return claims
}

function outcomeNumbers(outcome: ClaimOutcome): readonly number[] {
  const kind = outcomeKinds.indexOf(outcome.kind)
  switch (outcome.kind) {
    case 'void':
      return [kind, voidReasons.indexOf(outcome.reason), Number.NaN]
    case 'event': {
      const { happened, controlHappened } = outcome
      return [
        kind,
        Number(happened),
        controlHappened === null ? Number.NaN : Number(controlHappened),
      ]
    }
    case 'value':
      return [kind, outcome.value, Number.NaN]
    default:
      return outcome satisfies never
  }
}

function outcomeOf([
  kindAt = -1,
  first = Number.NaN,
  second = Number.NaN,
]: Float64Array): ClaimOutcome | null {
  const kind = outcomeKinds[kindAt]
  if (kind === 'value') return { kind, value: first }
  if (kind === 'event')
    return {
      ...{ kind, happened: first === 1 },
      controlHappened: Number.isNaN(second) ? null : second === 1,
    }
  const reason = voidReasons[first]
  return kind !== 'void' || reason === undefined ? null : { kind, reason }
}

function statementNumbers(statement: Statement): readonly number[] {
  switch (statement.form) {
    case 'event':
      return [statement.probability, statement.control ?? Number.NaN]
    case 'quantiles':
      return [...statement.values, ...statement.control]
    case 'rank':
      return [statement.score, statement.control]
    default:
      return statement satisfies never
  }
}

function statementOf(form: Statement['form'] | undefined, numbers: Float64Array): Statement | null {
  const [first, second] = numbers
  if (form === undefined || first === undefined || second === undefined) return null
  if (form === 'event')
    return { form, probability: first, control: Number.isNaN(second) ? null : second }
  if (form === 'rank') return { form, score: first, control: second }
  if (numbers.length !== 2 * LEVELS) return null
  return { form, values: [...numbers.slice(0, LEVELS)], control: [...numbers.slice(LEVELS)] }
}
