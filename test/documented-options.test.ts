import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { program } from '../src/program.ts'

const ROOT = join(import.meta.dirname, '..')

/** `perpscope serve --port 0 …` in prose, in a block or in a comment of a file. */
const CALL = /\bperpscope (?<command>[a-z-]+)(?<rest>(?: [^`\n]*)?)/g
const FLAG = /(?<=\s)--[a-z][a-z-]*/g

const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'deploy/**/*'], {
  cwd: ROOT,
  exclude: ({ name }) => name === 'CHANGELOG.md',
  withFileTypes: true,
}).flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []))

test('every call of perpscope in a page has options of that command', () => {
  const unknown: string[] = []
  let calls = 0
  for (const page of pages) {
    const text = readFileSync(page, 'utf8').replaceAll(/\\\n\s*/g, '')
    for (const { groups } of text.matchAll(CALL)) {
      const command = program.commands.find((one) => one.name() === groups?.['command'])
      if (command === undefined) continue
      calls += 1
      // Another command of the same line is not this one.
      const [own = ''] = (groups?.['rest'] ?? '').split(/[|;&]|, (?=perpscope)/)
      const known = new Set(command.options.map(({ long }) => long))
      for (const [flag] of own.matchAll(FLAG))
        if (!known.has(flag) && flag !== '--help')
          unknown.push(`${page.slice(ROOT.length + 1)}: ${command.name()} ${flag}`)
    }
  }
  expect(calls).toBeGreaterThan(50)
  expect(unknown).toEqual([])
})
