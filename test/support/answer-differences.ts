/** Tolerance of a printed number: half of its last digit, plus earlier rounding. */
const decimalsOf: readonly (readonly [RegExp, number])[] = [
  // Annualised from a rate of eight decimals; the factor is at most 24 x 365 x 100.
  [/annualized_pct$/, 0.0044 + 0.00005],
  [/(^|_)rate$|premium$/, 0.5e-8],
  [/_bps$|_usd$/, 0.005],
]
const PERCENT = 0.00005

/**
 * Describes each difference between an answer and an exact computation; empty if they agree.
 * Members that the exact computation lacks, such as `meta`, are not compared.
 */
export function answerDifferences(answer: unknown, exact: unknown, path = ''): string[] {
  if (exact === null || typeof exact !== 'object') {
    const name = path.split('.').at(-1) ?? ''
    return isNear(answer, exact, name) ? [] : [`${path}: ${String(answer)}, not ${String(exact)}`]
  }
  if (answer === null || typeof answer !== 'object') return [`${path}: ${String(answer)}`]
  const members = answer as Record<string, unknown>
  const lengths = [answer, exact].map((value) => (Array.isArray(value) ? value.length : 0))
  if (lengths[0] !== lengths[1]) return [`${path}: ${lengths[0]} items, not ${lengths[1]}`]
  return Object.entries(exact).flatMap(([name, value]) =>
    answerDifferences(members[name], value, path === '' ? name : `${path}.${name}`),
  )
}

function isNear(answer: unknown, exact: unknown, name: string): boolean {
  if (typeof answer !== 'number' || typeof exact !== 'number') return answer === exact
  const [, off] = decimalsOf.find(([pattern]) => pattern.test(name)) ?? [null, PERCENT]
  return Math.abs(answer - exact) <= off + 1e-9 * Math.abs(exact)
}
