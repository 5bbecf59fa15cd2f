import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { demoCommands, programIn } from './commands.ts'

const stand = {
  url: 'http://127.0.0.1:8402',
  adminUrl: 'http://127.0.0.1:9464',
  coin: 'BTC',
  dataDir: '/tmp/demo/data',
  ledger: '--data-dir /tmp/demo/data',
  baseKey: '0xkey',
  solanaKeyFile: '/tmp/demo/solana.json',
  solanaRpcUrl: 'http://127.0.0.1:8899',
  folder: '/home/reader',
  program: 'npx perpscope',
}

test.each([
  { where: 'a checkout', hasExamples: true, count: 7, examples: 2 },
  { where: 'another folder', hasExamples: false, count: 5, examples: 0 },
])('in $where the demo prints $count commands, $examples of them examples', (row) => {
  const { hasExamples, count, examples } = row
  const printed = demoCommands({ ...stand, hasExamples })
  const [, commands = ''] = printed.split(`in ${stand.folder}:\n\n`)
  const lines = commands.trim().split('\n')
  expect(lines).toHaveLength(count)
  expect(lines.filter((line) => line.includes('examples/'))).toHaveLength(examples)
  for (const line of lines) expect(line).toMatch(/^(curl|npx perpscope|PERPSCOPE_URL=)/)
})

test('npx is printed only where it finds this program, and not in the registry', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-commands-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const main = '/opt/perpscope/dist/main.js'
  expect(programIn(folder, '/opt/$a b/main.js')).toBe("node '/opt/$a b/main.js'")
  const program = programIn(folder, main)
  expect(program).toBe(`node ${main}`)
  expect(demoCommands({ ...stand, program, hasExamples: false })).not.toContain('npx')
  expect(programIn('/opt/perpscope', main)).toBe('npx perpscope')
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
  writeFileSync(join(folder, 'node_modules', '.bin', 'perpscope'), '')
  expect(programIn(folder, main)).toBe('npx perpscope')
})
