import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const document = readFileSync(join(ROOT, 'docs/payment-attacks.md'), 'utf8')
const rows = [...document.matchAll(/^\| (.+) \| `([^`]+\.test\.ts)` \| "(.+)" \|$/gm)].map(
  ([, what = '', file = '', name = '']) => ({ what, file, name }),
)

describe('the table of attacks', () => {
  test('has every line in the form that is checked here', () => {
    const lines = document.split('\n').filter((line) => line.includes('.test.ts` |'))
    expect(rows).toHaveLength(lines.length)
    expect(rows.length).toBeGreaterThan(80)
  })

  test.each(Array.from({ length: 27 }, (_, index) => index + 1))('has pitfall %i', (number) => {
    expect(rows.some(({ what }) => what.startsWith(`${number} | `))).toBe(true)
  })

  test.each(rows)('names a test that exists: $file $name', ({ file, name }) => {
    const path = join(ROOT, file)
    expect(existsSync(path), file).toBe(true)
    expect(readFileSync(path, 'utf8').replaceAll("\\'", "'")).toContain(name)
  })
})
