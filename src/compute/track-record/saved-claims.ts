import type { Claim, Statement } from '../../domain/track-record.ts'
import { coinClasses, quantileLevels } from '../../domain/track-record.ts'
import { joinSections, splitSections } from '../market/saved-sections.ts'
import { fnv1a } from './draw.ts'
import { rules } from './rules.ts'

const HEADER_FIELDS = 5
const forms = ['event', 'quantiles', 'rank'] as const satisfies Statement['form'][]
const LEVELS = quantileLevels.length

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
    const made = { rule, coin, coinClass, madeAtMs, horizonMs }
    claims.push({ ...made, statement, reference: [...reference] })
  }
  return claims
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
