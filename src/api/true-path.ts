import type { AnalysisContract } from '../domain/contract.ts'
import { pathTemplateOf } from '../domain/contract.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import type { ProblemFacts } from '../domain/problem.ts'

const SAMPLES = { name: 'sample', template: '/sample/{analysis}' }

/** What a path that does not exist is refused with: the path that was probably meant, where its first name tells. */
export function unknownPath(
  contracts: readonly AnalysisContract[],
  path: string,
): Pick<ProblemFacts, 'detail' | 'didYouMean'> {
  const [first = ''] = path.split('/').filter((segment) => segment !== '')
  const known = [
    ...contracts.map((contract) => ({ name: contract.id, template: pathTemplateOf(contract) })),
    SAMPLES,
  ]
  const names = nearestNames(
    first,
    known.map(({ name }) => name),
  )
  const meant = names.flatMap((name) => known.filter((one) => one.name === name))
  const [nearest] = meant
  if (nearest === undefined)
    return { detail: 'There is nothing at this path; / lists what there is.' }
  const isPair =
    nearest.name === first && path.split('/').length > nearest.template.split('/').length
  return {
    detail:
      `There is nothing at this path; ${nearest.name} is at ${nearest.template}` +
      (isPair && nearest.template.includes('{') ? ', and a pair is written as BTC-USDC.' : '.'),
    didYouMean: meant.map(({ template }) => template),
  }
}
