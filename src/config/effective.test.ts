import { expect, test } from 'vitest'
import { buyOptions } from './buy.ts'
import { effectiveConfiguration } from './effective.ts'
import { ledgerOptions } from './ledger.ts'
import { mcpOptions } from './mcp.ts'
import { serveOptions } from './serve.ts'
import { SettingsCommand } from './settings-command.ts'
import type { Variables } from './sources.ts'

const KEY = `0x${'1'.repeat(64)}`

async function configurationOf(flags: readonly string[], variables: Variables = {}) {
  const command = new SettingsCommand('serve', { variables, fileOptions: serveOptions })
  for (const option of serveOptions) command.addOption(option)
  command.action(() => {})
  await command.parseAsync(flags, { from: 'user' })
  return effectiveConfiguration(command)
}

async function entryOf(option: string, flags: readonly string[], variables: Variables = {}) {
  const { entries } = await configurationOf(flags, variables)
  return entries.find((entry) => entry.option === option)
}

test('a value has its origin and the text by which it was given', async () => {
  expect(await entryOf('--port', [])).toEqual({
    ...{
      option: '--port',
      variable: 'PERPSCOPE_PORT',
      value: '8402',
      origin: 'default',
      place: null,
    },
  })
  expect(await entryOf('--port', ['--port', '9000'])).toMatchObject({
    ...{ value: '9000', origin: 'flag' },
  })
  const variables = { PERPSCOPE_PORT: '9001' }
  expect(await entryOf('--port', [], variables)).toMatchObject({
    ...{ value: '9001', origin: 'variable', place: null },
  })
  expect(await entryOf('--port', ['--port', '9000'], variables)).toMatchObject({
    ...{ value: '9000', origin: 'flag' },
  })
})

test('defaults are shown as in the help, and values as typed', async () => {
  expect(await entryOf('--broadcast-payer-max', [])).toMatchObject({ value: '0.1' })
  expect(await entryOf('--broadcast-payer-max', ['--broadcast-payer-max', '0.25'])).toMatchObject({
    value: '0.25',
  })
  expect(await entryOf('--finality', [])).toMatchObject({ value: 'confirmed' })
  expect(await entryOf('--pay-to', [])).toMatchObject({ value: null, origin: 'default' })
})

test('every option that can hold a secret is masked', async () => {
  const secrets = serveOptions.filter(({ description }) => /prefer the variable/.test(description))
  expect(secrets.length).toBeGreaterThan(5)
  const values: Readonly<Record<string, string>> = {
    ledger: 'postgres://user:password-of-it@db.example/perpscope-books',
    broker: 'rediss://user:password-of-it@cache.example:6379/12',
    facilitatorAuth: 'Bearer token-of-it|Bearer token-of-another',
    facilitatorKey: KEY,
    receiptKey: KEY,
    solanaFacilitatorKey: 'key-of-solana-in-base58',
    pythKey: 'key-of-the-stream',
    liquidationFeedUrl: 'wss://vendor.example/ws?token=key-of-the-vendor',
  }
  for (const option of secrets) {
    const given = values[option.attributeName()]
    if (given === undefined) throw new Error(`the test has no value for ${option.long}`)
    const { entries, secrets: texts } = await configurationOf([option.long ?? '', given])
    const text = JSON.stringify(entries)
    expect(text, option.long).not.toMatch(/password-of-it|token-of|key-of|perpscope-books/)
    expect(text, option.long).not.toContain(KEY)
    expect(
      texts.some((secret) => given.includes(secret)),
      option.long,
    ).toBe(true)
  }
})

test('of an option that is given twice the last value counts, of a list all', async () => {
  const twice = (option: string, one: string, other: string) =>
    entryOf(option, [option, one, option, other])
  expect(await twice('--port', '1', '2')).toMatchObject({ value: '2' })
  expect(
    await twice('--facilitator-url', 'https://one.example', 'https://two.example'),
  ).toMatchObject({ value: 'https://one.example https://two.example' })
})

test('of authorizations that are given one by one every one is a secret', async () => {
  const option = '--facilitator-auth'
  const { secrets } = await configurationOf([option, 'Bearer one-token', option, 'Bearer another'])
  expect(secrets).toEqual(['Bearer one-token', 'Bearer another'])
})

test('a URL is shown without path, query and user', async () => {
  const node = 'https://user:pw@node.example:8443/v2/key-of-the-node?a=key'
  const { entries, secrets } = await configurationOf(['--rpc-url', node])
  expect(entries.find(({ option }) => option === '--rpc-url')?.value).toBe(
    'https://node.example:8443',
  )
  expect(secrets).toEqual(['/v2/key-of-the-node?a=key'])
  const urls = ['--source-url', 'okx=wss://one.example/private-path|wss://two.example']
  expect(await entryOf('--source-url', urls)).toMatchObject({
    value: 'okx=wss://one.example|wss://two.example',
  })
})

test('a password with the separator of lists is not shown', async () => {
  const ledger = 'postgres://user:first-part|second-part@db.example/books'
  const { entries, secrets } = await configurationOf(['--ledger', ledger])
  expect(entries.find(({ option }) => option === '--ledger')?.value).toBe('postgres://db.example')
  expect(secrets).toContain('first-part|second-part')
})

test.each([
  ['buy', buyOptions],
  ['mcp', mcpOptions],
  ['ledger', ledgerOptions],
])('no key and no database of %s is printed when it is refused', (_, options) => {
  const names = options.map((option) => option.attributeName())
  const secrets = options.filter((option) => /(^k|K)ey$|^to$/.test(option.attributeName()))
  expect(secrets.length, names.join()).toBeGreaterThan(0)
  for (const option of secrets) expect(option.mask, option.flags).not.toBeNull()
})

test('secrets of a URL are redacted as they are written and as they are read', async () => {
  const secretsOf = async (option: string, url: string) =>
    (await configurationOf([option, url])).secrets
  const broker = await secretsOf('--broker', 'rediss://user:100%-of%40it-x@cache.example/perpscope')
  expect(broker).toContain('100%-of%40it-x')
  expect(await secretsOf('--rpc-url', 'https://user-has-key@node.example/v2/key%20of')).toEqual(
    expect.arrayContaining(['/v2/key%20of', '/v2/key of', 'user-has-key']),
  )
  expect(
    await secretsOf('--ledger', 'postgres://perpscope:password-x@db.example/perpscope'),
  ).toEqual(['password-x'])
})
