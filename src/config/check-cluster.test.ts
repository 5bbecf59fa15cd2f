import { Command } from 'commander'
import { expect, test } from 'vitest'
import { checkServeOptions } from './check-serve.ts'
import { serveOptions } from './serve.ts'

const BROKER = ['--broker', 'valkey://127.0.0.1:6379']
const PAYEE = ['--pay-to', `0x${'a'.repeat(40)}`]
const SALES = [...PAYEE, '--facilitator-url', 'http://127.0.0.1:1']

function check(args: readonly string[]): void {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  for (const option of serveOptions) command.addOption(option)
  checkServeOptions(command.parse([...args], { from: 'user' }).opts())
}

test.each([
  ['a gateway without a broker', ['--role', 'gateway', ...SALES], /--role gateway needs --broker/],
  ['an engine without a broker', ['--role', 'engine'], /--role engine needs --broker/],
  ['a broker for a whole service', [...BROKER, ...SALES], /--role all uses none/],
  [
    'a gateway that sells without a shared ledger',
    ['--role', 'gateway', ...BROKER, ...SALES],
    /--role gateway needs --ledger/,
  ],
  [
    'a recording where no engine is',
    ['--role', 'gateway', ...BROKER, '--payment', 'open', '--record', 'x'],
    /--record needs an engine/,
  ],
  [
    'payment options for an engine',
    ['--role', 'engine', ...BROKER, ...SALES],
    /--role engine sells nothing: give --pay-to, --facilitator-url to --role gateway only/,
  ],
  ['a broker of another kind', ['--role', 'engine', '--broker', 'nats://x'], /not a URL such as/],
  ['a broker that is no URL', ['--role', 'engine', '--broker', 'localhost'], /not a URL such as/],
  [
    'a broker whose database is no number',
    ['--role', 'engine', '--broker', 'redis://host/perpscope'],
    /not a URL such as/,
  ],
  [
    'a broker whose password has a bare percent sign',
    ['--role', 'engine', '--broker', 'redis://:100%@host'],
    /not a URL such as/,
  ],
])('serve refuses %s', (_what, args, message) => {
  expect(() => check(args)).toThrow(message)
})

test('a broker that is refused is not shown, because its URL may contain a password', () => {
  expect(() => check(['--role', 'engine', '--broker', 'http://me:secret@host'])).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  )
})

test.each([
  ['an engine', ['--role', 'engine', ...BROKER]],
  ['an engine by TLS', ['--role', 'engine', '--broker', 'rediss://me:secret@host:6380/1']],
  [
    'a gateway with a shared ledger',
    ['--role', 'gateway', ...BROKER, ...SALES, '--ledger', 'postgres://127.0.0.1/perpscope'],
  ],
  ['an open gateway', ['--role', 'gateway', ...BROKER, '--payment', 'open']],
])('serve accepts %s', (_what, args) => {
  expect(() => check(args)).not.toThrow()
})
