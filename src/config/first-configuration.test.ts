import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import type { SettingTexts } from './first-configuration.ts'
import { firstConfiguration } from './first-configuration.ts'
import { initOptions } from './init.ts'
import { answered } from './init-questions.ts'
import { serveOptions } from './serve.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const KEY = `0x${'1'.repeat(64)}`
const folder = mkdtempSync(join(tmpdir(), 'perpscope-init-'))
const keyFile = join(folder, 'key')
writeFileSync(keyFile, KEY)

afterAll(() => rmSync(folder, { recursive: true }))

const minimal: SettingTexts = new Map([
  ['pay-to', PAYEE],
  ['facilitator-url', 'https://facilitator.example'],
])

/** SettingTexts in the order of the questions; each that is missing fails the test. */
async function conversation(lines: readonly string[], given: SettingTexts = new Map()) {
  const rest = [...lines]
  const asked: string[] = []
  const told: string[] = []
  const answers = await answered(
    given,
    async (text) => {
      asked.push(text)
      const line = rest.shift()
      if (line === undefined) throw new Error(`no answer for: ${text}`)
      return line
    },
    (text) => told.push(text),
  )
  expect(rest).toEqual([])
  return { answers, asked, told }
}

function settingsOf(text: string): Readonly<Record<string, string>> {
  const { problems, values } = parseConfigFile(text, 'x', serveOptions)
  expect(problems).toEqual([])
  return Object.fromEntries([...values].map(([key, { texts }]) => [key, texts.join(' ')]))
}

describe('questions', () => {
  test('a facilitator: empty lines take the defaults', async () => {
    const lines = ['', PAYEE, '', 'https://facilitator.example', '', '', '', '', '']
    const { answers } = await conversation(lines)
    expect(settingsOf(firstConfiguration(answers))).toEqual({
      network: 'base',
      'pay-to': PAYEE,
      'facilitator-url': 'https://facilitator.example',
      port: '8402',
      'sales-per-wallet-per-minute': '20',
      'quotes-per-address-per-minute': '60',
    })
  })

  test('an own node on both networks: keys are named by their files', async () => {
    const lines = [
      ...['base-sepolia', PAYEE, 'GqWqEPcRGuTEVgM7cnE83sEp9sLHJTWCeH2GwbTNYJAj', ''],
      ...['http://127.0.0.1:8545', keyFile, 'http://127.0.0.1:8899', ''],
      ...['80', 'https://api.example.com', '', '', ''],
    ]
    const { answers } = await conversation(lines)
    const text = firstConfiguration(answers)
    expect(settingsOf(text)).toMatchObject({
      ...{ network: 'base-sepolia', 'facilitator-key-file': keyFile, port: '80' },
      'trust-proxy': 'loopback',
    })
    expect(text).not.toContain(KEY)
    expect(text).toContain('PERPSCOPE_SOLANA_FACILITATOR_KEY')
    expect(text).not.toMatch(/PERPSCOPE_FACILITATOR_KEY/)
    const uncommented = text.replace('#solana-facilitator-key-file', 'solana-facilitator-key-file')
    expect(settingsOf(uncommented)).toHaveProperty('solana-facilitator-key-file', '<path>')
  })

  test.each([
    ['network', ['mainnet', 'base'], /Allowed choices are base, base-sepolia/],
    ['pay-to', ['0x1', PAYEE], /not a 0x address/],
    ['pay-to', ['', PAYEE], /an answer is needed/],
    ['pay-to', [PAYEE.replace('aA', 'Aa'), PAYEE], /checksum/],
    ['pay-to', [`0x${'0'.repeat(40)}`, PAYEE], /zero address/],
    ['port', ['99999', '80'], /not a port/],
    ['rpc-url', ['localhost', 'http://localhost:8545'], /not an http URL/],
    ['facilitator-key-file', [join(tmpdir(), 'absent-key'), ''], /cannot be read/],
  ])('a wrong answer for %s is asked for again', async (key, lines, problem) => {
    const all = new Map([
      ...[
        ['network', 'base'],
        ['pay-to', PAYEE],
        ['solana-pay-to', ''],
        ['rpc-url', 'http://a'],
      ],
      ...[
        ['facilitator-key-file', 'x'],
        ['port', '1'],
        ['public-url', 'http://a'],
        ['trust-proxy', '0'],
      ],
      ...[
        ['sales-per-wallet-per-minute', '1'],
        ['quotes-per-address-per-minute', '1'],
      ],
      ...[
        ['solana-rpc-url', 'http://a'],
        ['solana-facilitator-key-file', 'x'],
      ],
    ] as [string, string][])
    all.delete(key)
    const before = key === 'rpc-url' ? [''] : []
    const { told } = await conversation([...before, ...lines], all)
    expect(told.join('')).toMatch(problem)
  })

  test('what a flag states is not asked', async () => {
    const { asked } = await conversation(['', '', '', '', '', '', ''], minimal)
    expect(asked.join('\n')).not.toMatch(/receives USDC there|URL of a facilitator/)
  })

  test('without payment nothing is asked about it', async () => {
    const { answers } = await conversation([''], new Map([['payment', 'open']]))
    expect(settingsOf(firstConfiguration(answers))).toMatchObject({ payment: 'open' })
  })
})

describe('the file', () => {
  test('says at once what is missing', () => {
    expect(() => firstConfiguration(new Map([['host', '0.0.0.0']]))).toThrow(
      /--pay-to .* is missing[\s\S]*--host 0.0.0.0 needs --public-url[\s\S]*no facilitator is configured/,
    )
  })

  test('has the values as their types', () => {
    const text = firstConfiguration(
      new Map([
        ...minimal,
        ['outside', 'off'],
        ['trust-proxy', 'loopback,10.0.0.0/8'],
        ['port', '080'],
      ]),
    )
    expect(text).toMatch(/^outside = false$/m)
    expect(text).toMatch(/^trust-proxy = \["loopback", "10.0.0.0\/8"\]$/m)
    expect(text).toMatch(/^port = 80$/m)
  })

  test.each([
    [[], undefined],
    [[['public-url', 'https://api.example.com']], 'loopback'],
    [
      [
        ['public-url', 'https://api.example.com'],
        ['trust-proxy', '0'],
      ],
      '0',
    ],
  ] as const)('of %j trusts the proxy %s', (answers, proxy) => {
    const settings = settingsOf(firstConfiguration(new Map([...minimal, ...answers])))
    expect(settings['trust-proxy']).toBe(proxy)
  })

  test('is not overridden by the systemd unit, except for the data directory', () => {
    const unit = readFileSync(
      join(import.meta.dirname, '../../deploy/systemd/perpscope.service'),
      'utf8',
    )
    const set = [...unit.matchAll(/^Environment=(PERPSCOPE_\w+)/gm)].map(([, name]) => name)
    const written = initOptions.map(({ envVar }) => envVar)
    expect(set.filter((name) => written.includes(name))).toEqual(['PERPSCOPE_DATA_DIR'])
  })

  test('has no flag of init itself', () => {
    expect(firstConfiguration(new Map([...minimal, ['force', 'on']]))).not.toContain('force')
  })
})
