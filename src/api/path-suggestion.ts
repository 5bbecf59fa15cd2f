import type { AnalysisContract } from '../domain/contract.ts'
import { pathTemplateOf } from '../domain/contract.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { ProblemFacts } from '../domain/problem.ts'

const freePaths = [
  { name: 'sample', template: '/sample/{analysis}' },
  { name: 'track-record', template: '/track-record/{family}' },
]

/** What other APIs have before their paths; it resembles short names of analyses. */
const PREFIX = /^(?:api|v\d+)$/i

/** Facts of the 404 for an unknown path, with the intended path if its first segment, after a prefix, resembles one. */
export function unknownPathFacts(
  contracts: readonly AnalysisContract[],
  path: string,
): Pick<ProblemFacts, 'detail' | 'didYouMean'> {
  const all = path.split('/').filter((segment) => segment !== '')
  const begin = all.findIndex((segment) => !PREFIX.test(segment))
  const segments = begin < 0 ? [] : all.slice(begin)
  const [first = ''] = segments
  const known = [
    ...contracts.map((contract) => ({ name: contract.id, template: pathTemplateOf(contract) })),
    ...freePaths,
  ]
  const names = nearestNames(
    first,
    known.map(({ name }) => name),
  )
  const meant = names.flatMap((name) => known.filter((one) => one.name === name))
  const [nearest] = meant
  if (nearest === undefined) return { detail: 'This path does not exist. GET / lists all paths.' }
  const isPair = nearest.name === first && segments.length > 2
  const advice = path.includes('//')
    ? ' The path has an empty segment.'
    : isPair && /\{(coin|token)\}/.test(nearest.template)
      ? ' Write a pair as BTC-USDC.'
      : ''
  return {
    detail: `This path does not exist. The path of ${nearest.name} is ${nearest.template}.${advice}`,
    didYouMean: meant.map(({ template }) => template),
  }
}
