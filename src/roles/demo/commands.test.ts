import { expect, test } from 'vitest'
import { demoCommands } from './commands.ts'

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
