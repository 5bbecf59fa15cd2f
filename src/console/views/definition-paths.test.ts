import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { definitions } from '../../api/console/definitions.ts'
import { contracts } from '../../compute/analyses/registry.ts'
import { overview } from '../../compute/charts/overview.ts'

const known = definitions([...contracts, overview.contract])

/** Paths of labels and of columns in a file, each with its analysis. */
function pathsIn(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8')
  const labels = text.matchAll(/analysis="([^"]+)"\s+path="([^"]+)"/g)
  const analyses = new Set(
    Array.from(text.matchAll(/AnswerOf<'([^']+)'>|Answers\['([^']+)'\]/g), (found) => found[1]),
  )
  const [analysis = 'screener'] = analyses
  const columns = text.matchAll(/(?:analysis: '([^']+)', )?\bpath: '([^']+)'/g)
  return [
    ...Array.from(labels, ([, of, path]) => `${of} ${path}`),
    ...Array.from(columns, ([, of = analysis, path]) => `${of} ${path}`),
  ]
}

test('every label and column of the views has a definition in the schema of its analysis', () => {
  const used = globSync(`${import.meta.dirname}/{market,world}/*.tsx`).flatMap(pathsIn)
  const unknown = used.filter((pair) => {
    const [analysis = '', path = ''] = pair.split(' ')
    return known[analysis]?.[path] === undefined
  })
  expect(used.length).toBeGreaterThan(100)
  expect(unknown).toEqual([])
})
