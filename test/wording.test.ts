import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { agentCard } from '../src/api/discovery/agent-card.ts'
import { offerOf } from '../src/api/discovery/analysis-offer.ts'
import { llmsFullText } from '../src/api/discovery/llms-text.ts'
import { openApiFull } from '../src/api/discovery/openapi.ts'
import { toolOf } from '../src/api/mcp/mcp-tools.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { trackRecordContract } from '../src/compute/track-record-statistics/track-record-document.ts'
import { program } from '../src/program.ts'

const ROOT = join(import.meta.dirname, '..')

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const filesOf = (...patterns: readonly string[]) =>
  globSync(patterns, { cwd: ROOT, exclude: (name) => name.includes('node_modules') })
const productFiles = filesOf('src/**/*.ts').filter(
  (file) => !file.endsWith('.test.ts') && !file.includes('/testing/'),
)

describe('names', () => {
  test('no exported type has the name of another one', () => {
    const filesByName = new Map<string, string[]>()
    for (const file of productFiles)
      for (const [, name = ''] of read(file).matchAll(
        /^export (?:abstract )?(?:type|interface|class) (\w+)/gm,
      ))
        filesByName.set(name, [...(filesByName.get(name) ?? []), file])
    const repeated = [...filesByName].filter(([, files]) => files.length > 1)
    expect(filesByName.size, 'types were read').toBeGreaterThan(300)
    expect(repeated).toEqual([])
  })
})

describe('cited files', () => {
  const texts = filesOf(
    '*.{md,ts}',
    '.ci/*',
    '{src,test,bench,examples,docs,site,tools}/**/*.{md,ts,mjs,sh}',
  )
  const files = new Set([...texts, ...filesOf('tools/**/*.md')])
  const names = new Set(Array.from(files, (file) => basename(file)))

  test('a cited page exists', () => {
    // URLs are not checked.
    const missing = texts.flatMap((text) =>
      Array.from(read(text).matchAll(/(?<![\w/.:-])[\w./-]+\.md\b/g))
        .map(([cited]) => cited)
        .filter((cited) =>
          cited.includes('/')
            ? !files.has(cited) && !files.has(join(dirname(text), cited))
            : !names.has(cited),
        )
        .map((cited) => `${text}: ${cited}`),
    )
    expect(texts.length, 'texts were read').toBeGreaterThan(1_000)
    expect(missing).toEqual([])
  })

  test('a source file that a comment or a page cites exists', () => {
    /** Forbidden, and generated. */
    const absent = new Set(['index.ts', 'client.d.ts'])
    const missing = texts.flatMap((text) => {
      const prose = text.endsWith('.md')
        ? [read(text)]
        : (read(text).match(/^\s*(?:\/\*\*|\*|\/\/).*$/gm) ?? [])
      return prose
        .flatMap((part) => Array.from(part.matchAll(/(?<![\w.*<>/-])[\w/][\w./-]*\.(?:ts|mjs)\b/g)))
        .map(([cited]) => basename(cited))
        .filter((cited) => !names.has(cited) && !absent.has(cited))
        .map((cited) => `${text}: ${cited}`)
    })
    expect(missing).toEqual([])
  })
})

describe('words for users', () => {
  const WORDS =
    /\b(told|tells?|heard|hears?|anew|whoever|whatever|somebody|nobody|meanwhile|so many|so much|beside|till|befell|memories|roster|stands? for|goes? on|the world|at once|dearer)\b/gi
  const facts = {
    contracts,
    publicUrl: 'https://service.example',
    version: '0.0.0',
    waysToPay: [],
    exampleCoin: 'BTC',
    trackRecord: trackRecordContract,
  }
  const offers = contracts.map((contract) => offerOf(contract, { exampleCoin: 'BTC' }))
  const help = (command: Command) => {
    const parts: string[] = []
    command.configureOutput({ writeOut: (part) => parts.push(part) }).outputHelp()
    return parts.join('')
  }
  /** `detail` of problems and `hint` of diagnostics. */
  const errorTexts = () =>
    productFiles
      .filter((file) => /^src\/(api|payment|link)\//.test(file))
      .flatMap((file) =>
        Array.from(
          read(file).matchAll(/\b(?:detail|hint|meaning):\s*(?:['`][^'`]*['`][\s+]*)+/g),
          ([found]) => found,
        ),
      )
      .join('\n')

  const texts: Readonly<Record<string, () => string>> = {
    'README.md': () => read('README.md'),
    '/openapi-full.json': () => JSON.stringify(openApiFull(facts)),
    '/llms-full.txt': () => llmsFullText(facts),
    'agent card': () => JSON.stringify(agentCard(facts)),
    'MCP tools': () => JSON.stringify(offers.map(toolOf)),
    'error texts': errorTexts,
    '--help': () => [program, ...program.commands].map(help).join('\n'),
  }

  test.each(Object.entries(texts))('%s has no private words', (_name, text) => {
    const shown = text()
    expect(shown.length).toBeGreaterThan(1_000)
    const found = Array.from(shown.matchAll(WORDS), ({ 0: word, index }) => ({
      word,
      in: shown.slice(Math.max(0, index - 60), index + 40),
    }))
    expect(found).toEqual([])
  })
})
