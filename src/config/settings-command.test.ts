import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import { afterAll, describe, expect, test } from 'vitest'
import { buyOptions } from './buy.ts'
import { effectiveConfiguration } from './effective.ts'
import { ledgerOptions } from './ledger.ts'
import { mcpOptions } from './mcp.ts'
import { recordOptions } from './record.ts'
import { serveOptions } from './serve.ts'
import { SettingsCommand } from './settings-command.ts'
import type { Variables } from './sources.ts'
import { verifyOptions } from './verify.ts'

const KEY = `0x${'1'.repeat(64)}`
const folder = mkdtempSync(join(tmpdir(), 'perpscope-settings-'))
const keyFile = file('key', `${KEY}\n`)

afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function parsed(
  flags: readonly string[],
  variables: Variables = {},
  options: typeof serveOptions = serveOptions,
): SettingsCommand {
  const command = new SettingsCommand('serve', { variables, fileOptions: serveOptions })
  for (const option of options) command.addOption(option)
  return command
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parse(flags, { from: 'user' })
}

const entryOf = (command: SettingsCommand, option: string) =>
  effectiveConfiguration(command).entries.find((entry) => entry.option === option)

describe('precedence', () => {
  const config = file('all.toml', `port = 1\nreceipt-key = "${KEY}"\n`)
  const keyPath = file('other-key', `0x${'2'.repeat(64)}`)

  test.each([
    ['the default', [], {}, 8402],
    ['the file', ['--config', config], {}, 1],
    ['the file by its variable', [], { PERPSCOPE_CONFIG: config }, 1],
    ['the variable', ['--config', config], { PERPSCOPE_PORT: '2' }, 2],
    ['the flag', ['--config', config, '--port', '3'], { PERPSCOPE_PORT: '2' }, 3],
  ] as const)('%s', (_what, flags, variables, port) => {
    const command = parsed(flags, variables)
    expect(command.problems).toEqual([])
    expect(command.opts()).toMatchObject({ port })
  })

  test.each([
    ['true', { json: true }],
    ['1', { json: true }],
    ['off', {}],
    ['0', {}],
    ['', {}],
  ])('a flag by the variable %j', (text, expected) => {
    const options = ledgerOptions as typeof serveOptions
    expect(parsed([], { PERPSCOPE_LEDGER_JSON: text }, options).opts()).toMatchObject(expected)
    expect(parsed([], { PERPSCOPE_LEDGER_JSON: text }, options).opts()['json'] ?? false).toBe(
      'json' in expected,
    )
    expect(parsed([], { PERPSCOPE_LEDGER_JSON: 'maybe' }, options).problems).toEqual([
      'PERPSCOPE_LEDGER_JSON = maybe: not on or off',
    ])
  })

  test('a variable file counts before the configuration file, and after a flag', () => {
    const variables = { PERPSCOPE_RECEIPT_KEY_FILE: keyPath }
    const flags = ['--config', config]
    expect(parsed(flags, variables).opts()).toMatchObject({ receiptKey: `0x${'2'.repeat(64)}` })
    expect(parsed([...flags, '--receipt-key', KEY], variables).opts()).toMatchObject({
      receiptKey: KEY,
    })
  })
})

describe('origin', () => {
  const config = file('origin.toml', `\nhost = "::1"\nfacilitator-key-file = "${keyFile}"\n`)

  test('a value of a file has path, line and key', () => {
    expect(entryOf(parsed(['--config', config]), '--host')).toMatchObject({
      ...{ value: '::1', origin: 'file', place: `${config}:2: host` },
    })
  })

  test.each([
    ['a key', ['--config', config], {}, `${keyFile} (${config}:3: facilitator-key-file)`],
    [
      'a variable',
      [],
      { PERPSCOPE_FACILITATOR_KEY_FILE: keyFile },
      `${keyFile} (PERPSCOPE_FACILITATOR_KEY_FILE)`,
    ],
  ])(
    'a secret of a file that %s names has its path, and is masked',
    (_what, flags, variables, place) => {
      const command = parsed(flags, variables as Variables)
      expect(command.opts()).toMatchObject({ facilitatorKey: KEY })
      expect(entryOf(command, '--facilitator-key')).toMatchObject({
        ...{ value: 'set', origin: 'file', place },
      })
      expect(command.files).toContainEqual({ path: keyFile, hasSecret: true })
      expect(JSON.stringify(effectiveConfiguration(command).entries)).not.toContain(KEY)
    },
  )

  test('a configuration file with a key is a file with a secret', () => {
    expect(parsed(['--config', config]).files).toContainEqual({ path: config, hasSecret: false })
    const keyed = file('keyed.toml', `receipt-key = "${KEY}"`)
    expect(parsed(['--config', keyed]).files).toEqual([{ path: keyed, hasSecret: true }])
  })
})

describe('problems', () => {
  test('of a member of a table have its own line, and secrets are not shown', () => {
    const config = file(
      'table.toml',
      '[source-url]\nkraken = "wss://a"\n\nokx = ["wss://b", "ftp://hidden"]\n',
    )
    const { problems } = parsed(['--config', config])
    expect(problems).toEqual([
      `${config}:4: okx in [source-url]: not an http or websocket URL of okx without a fragment`,
    ])
    expect(parsed(['--source-url', 'kraken=wss://c', '--config', config]).problems).toEqual([])
  })

  test('of all places are named at once, and secrets are not shown', () => {
    const empty = file('empty', '\n')
    const config = file(
      'wrong.toml',
      `prot = 1\nhost = 5\npay-to = "0x1"\nreceipt-key = "hidden-word"\nledger-file = "${empty}"\n`,
    )
    const { problems, unread } = parsed(['--config', config], {
      PERPSCOPE_ADMIN_PORT: '70000',
      PERPSCOPE_PYTH_KEY_FILE: join(folder, 'absent'),
      PERPSCOPE_FACILITATOR_KEY: 'hidden-word',
    })
    expect(problems).toEqual([
      `${config}:1: prot is not a setting; did you mean port?`,
      `${config}:2: host needs a string, not a number`,
      expect.stringContaining(`PERPSCOPE_PYTH_KEY_FILE: ${join(folder, 'absent')} cannot be read`),
      'PERPSCOPE_ADMIN_PORT = 70000: not a port',
      `${config}:5: ledger-file: ${empty} is empty`,
      `${config}:3: pay-to = 0x1: not a 0x address`,
      'PERPSCOPE_FACILITATOR_KEY: not a 0x private key of 32 bytes',
      `${config}:4: receipt-key: not a 0x private key of 32 bytes`,
    ])
    expect([...unread]).toContain('--pay-to')
  })

  test.each([
    ...new Map(
      [...serveOptions, ...buyOptions, ...mcpOptions, ...ledgerOptions, ...verifyOptions]
        .filter(({ mask, parseArg }) => mask !== null && parseArg !== undefined)
        .map((option) => [option.flags, option]),
    ),
  ])('of the secret flag %s do not show it', (_flags, option) => {
    // No masked option accepts it: neither a key nor a URL nor a header value.
    const secret = 'hidden\u00a0word'
    let shown = ''
    const command = new SettingsCommand('x', { variables: {}, fileOptions: [] })
      .addOption(option)
      .exitOverride()
      .configureOutput({ writeErr: (text) => (shown += text) })
    try {
      command.parse([option.long ?? '', secret], { from: 'user' })
      // The databases are checked by their role.
      expect(option.long).toMatch(/^--(ledger|broker|to)$/)
    } catch (cause) {
      if (!(cause instanceof CommanderError)) throw cause
      expect(shown).toContain(`error: the value of option '${option.flags}' is invalid.`)
      expect(shown + cause.message).not.toContain('hidden')
    }
  })

  test.each([
    ['32 bytes in hexadecimal digits', KEY],
    ['32 bytes without 0x', 'aB'.repeat(32)],
    ['64 bytes in base58', 'z7'.repeat(44)],
    ['a file of a Solana wallet', JSON.stringify(Array.from({ length: 64 }, (_, at) => at))],
  ])('of another option do not show %s', (_what, key) => {
    let shown = ''
    const command = new SettingsCommand('x', { variables: {}, fileOptions: [] })
    for (const option of serveOptions) command.addOption(option)
    command.exitOverride().configureOutput({ writeErr: (text) => (shown += text) })
    for (const flag of ['--pay-to', '--solana-pay-to', '--network', '--port'])
      expect(() => command.parse([flag, key], { from: 'user' })).toThrow(
        `the value of ${flag.slice(2)} looks like a private key`,
      )
    const file = join(folder, 'pasted.toml')
    writeFileSync(file, `pay-to = ${JSON.stringify(key)}\n`)
    const { problems } = parsed(['--config', file], {
      PERPSCOPE_SOLANA_PAY_TO: key,
      PERPSCOPE_OUTCOME_NODE: key,
    })
    expect(problems.toSorted()).toEqual(
      [`${file}:1: pay-to`, 'PERPSCOPE_OUTCOME_NODE', 'PERPSCOPE_SOLANA_PAY_TO'].map((place) =>
        expect.stringContaining(`${place}: the value looks like a private key`),
      ),
    )
    expect(shown + problems.join()).not.toContain(key)
  })

  test.each([
    ['an unknown command', [KEY]],
    ['a surplus argument', ['known', KEY]],
    ['an unknown option', ['known', `--kye=${KEY}`]],
  ])('do not show a key in place of %s', (_what, args) => {
    let shown = ''
    const program = new SettingsCommand('x', { variables: {}, fileOptions: [] })
      .exitOverride()
      .configureOutput({ writeErr: (text) => (shown += text) })
    program.command('known').action(() => {})
    expect(() => program.parse(args, { from: 'user' })).toThrow(/a private key that is not shown/)
    expect(shown).toMatch(/error: (unknown|too many).*a private key that is not shown/)
    expect(shown).not.toContain(KEY.slice(2))
  })

  test('are an empty path, which would be the working directory', () => {
    expect(parsed([], { PERPSCOPE_DATA_DIR: ' ', PERPSCOPE_CONFIG: '' }).problems).toEqual([
      'PERPSCOPE_CONFIG = : not a path',
      'PERPSCOPE_DATA_DIR = : not a path',
    ])
    expect(() => parsed(['--data-dir', ''])).toThrow(/argument '' is invalid. not a path/)
  })

  test('are not the space and the Windows line ends around a variable', () => {
    const variables = { PERPSCOPE_PORT: '80\r', PERPSCOPE_RECEIPT_KEY_FILE: `${keyFile}\r` }
    const command = parsed([], variables)
    expect(command.problems).toEqual([])
    expect(command.opts()).toMatchObject({ port: 80, receiptKey: KEY })
  })

  test('show control characters', () => {
    expect(parsed([], { PERPSCOPE_PAY_TO: '0x1\r2' }).problems).toEqual([
      'PERPSCOPE_PAY_TO = "0x1\\r2": not a 0x address',
    ])
  })

  test('are a value and its file in one place', () => {
    const both = { PERPSCOPE_FACILITATOR_KEY: KEY, PERPSCOPE_FACILITATOR_KEY_FILE: keyFile }
    expect(parsed([], both).problems).toEqual([
      'PERPSCOPE_FACILITATOR_KEY and PERPSCOPE_FACILITATOR_KEY_FILE are both set: remove one',
    ])
    const config = file('both.toml', `receipt-key = "${KEY}"\nreceipt-key-file = "${keyFile}"`)
    expect(parsed(['--config', config]).problems).toEqual([
      `${config}:1: receipt-key and ${config}:2: receipt-key-file are both set: remove one`,
    ])
  })

  test('are a configuration file that is missing', () => {
    expect(parsed(['--config', join(folder, 'absent.toml')]).problems).toEqual([
      expect.stringMatching(/--config .*absent.toml cannot be read: ENOENT/),
    ])
  })
})

describe('a command with some of the options of serve', () => {
  test('takes its own from the file, and finds wrong ones', () => {
    const config = file('record.toml', 'data-dir = "/srv/x"\nport = 80\nprot = 1\n')
    const command = parsed(['--out', 'x.plog', '--config', config], {}, recordOptions)
    expect(command.opts()).toMatchObject({ dataDir: '/srv/x', out: 'x.plog' })
    expect(command.problems).toEqual([expect.stringContaining('prot is not a setting')])
  })

  test('takes an option of another name by the key of its variable', () => {
    const config = file('bytes.toml', 'record-max-bytes = 5000\n')
    const command = parsed(['--out', 'x.plog', '--config', config], {}, recordOptions)
    expect(command.problems).toEqual([])
    expect(command.opts()).toMatchObject({ maxBytes: 5_000 })
    expect(entryOf(command, '--max-bytes')).toMatchObject({
      place: `${config}:1: record-max-bytes`,
    })
  })

  test('takes a required option from its variable', () => {
    expect(parsed([], { PERPSCOPE_RECORD_OUT: 'x.plog' }, recordOptions).opts()).toMatchObject({
      out: 'x.plog',
    })
    expect(() => parsed([], {}, recordOptions)).toThrow(CommanderError)
  })
})

test('values of a variable and of flags are not mixed', () => {
  const variables = { PERPSCOPE_FACILITATOR_URL: 'http://a|http://b' }
  expect(parsed([], variables).opts()).toMatchObject({ facilitatorUrl: ['http://a', 'http://b'] })
  const flags = ['--facilitator-url', 'http://c', '--facilitator-url', 'http://d']
  expect(parsed(flags, variables).opts()).toMatchObject({
    facilitatorUrl: ['http://c', 'http://d'],
  })
})
