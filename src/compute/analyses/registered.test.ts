import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { navigation } from '../../../site/navigation.ts'
import { pathTemplateOf } from '../../domain/contract.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { contracts } from './registry.ts'

const root = join(import.meta.dirname, '../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** What follows an analysis outside its folder and the registry, with the remedy as the failure message. */
describe.each(contracts.map((contract) => ({ id: contract.id, contract })))(
  'the registered analysis $id',
  ({ id, contract }) => {
    test('has the type of its answer in the client', () => {
      const isTyped = new RegExp(`^ {2}'?${id}'?: Static<`, 'm').test(read('src/client/answers.ts'))
      expect(
        isTyped,
        `add "${id}: Static<typeof …Answer>" to Answers in src/client/answers.ts`,
      ).toBe(true)
    })

    test('has a sample', () => {
      const samples = JSON.parse(read('src/api/discovery/samples.json')) as object
      expect(
        Object.keys(samples),
        'write the samples: npx tsx test/golden/write-samples.ts && npx biome format --write src/api/discovery/samples.json',
      ).toContain(id)
    })

    test('has a row with its path and price in README.md', () => {
      const usdc = usdcDecimal(contract.priceUsdcAtomic)
      const [beginning, end] = [`| \`${pathTemplateOf(contract)}`, `\` | ${usdc} |`]
      const rows = read('README.md')
        .split('\n')
        .filter((line) => line.startsWith(beginning) && line.includes(end))
      expect(
        rows,
        `add to the table of analyses in README.md: ${beginning}${end} what it returns |`,
      ).toHaveLength(1)
    })

    test('has a row in the table of the demo in README.md', () => {
      const isPrinted = new RegExp(`^│ ${id} +│`, 'm').test(read('README.md'))
      expect(isPrinted, 'replace that table by the one of npm run demo -- --once').toBe(true)
    })

    test('has a page of formulas', () => {
      const page = `docs/numbers/${id}.md`
      expect(
        existsSync(join(root, page)),
        `write ${page}: each formula, its source, and the test that proves it`,
      ).toBe(true)
    })

    test('has a place among the pages of the site', () => {
      const [group] = navigation(new Set([`docs/numbers/${id}.md`]))
      expect(group?.title, `name '${id}' in site/navigation.ts, group Numbers`).toBe('Numbers')
    })
  },
)
