import type { AnalysisContract } from '../domain/contract.ts'
import { pathTemplateOf } from '../domain/contract.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { ProblemFacts } from '../domain/problem.ts'

const freePaths = [
  { name: 'sample', template: '/sample/{analysis}' },
  { name: 'track-record', template: '/track-record/{family}' },
]

/** Facts of the 404 for an unknown path, with the intended path if the first segment resembles one. */
export function unknownPathFacts(
  contracts: readonly AnalysisContract[],
  path: string,
): Pick<ProblemFacts, 'detail' | 'didYouMean'> {
  const [first = ''] = path.split('/').filter((segment) => segment !== '')
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
  const isPair =
    nearest.name === first && path.split('/').length > nearest.template.split('/').length
  return {
    detail:
      `This path does not exist. The path of ${nearest.name} is ${nearest.template}.` +
      (isPair && nearest.template.includes('{') ? ' Write a pair as BTC-USDC.' : ''),
    didYouMean: meant.map(({ template }) => template),
  }
}
