import { Command } from 'commander'
import { expect, test } from 'vitest'
import { checkServeOptions } from './check-serve.ts'
import type { ServeOptions } from './serve.ts'
import { serveOptions } from './serve.ts'

const KEY = `0x${'1'.repeat(64)}`

function parsed(args: readonly string[]): ServeOptions {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  for (const option of serveOptions) command.addOption(option)
  return command.parse(['--pay-to', `0x${'a'.repeat(40)}`, ...args], { from: 'user' }).opts()
}

test.each([
  ['no facilitator and no key', [], /no facilitator is configured/],
  [
    'a key that has no node to settle with, beside a facilitator',
    ['--facilitator-url', 'http://127.0.0.1:1', '--facilitator-key', KEY],
    /--facilitator-key needs --rpc-url/,
  ],
  [
    'an authorization without a facilitator',
    ['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', KEY, '--facilitator-auth', 'Bearer x'],
    /--facilitator-auth needs --facilitator-url/,
  ],
  [
    'gas for contract wallets that is too little for one of them',
    [
      ...['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', KEY],
      ...['--contract-gas-per-hour', '299999'],
    ],
    /give 300000 or more, or --contract-wallets off/,
  ],
  [
    'an admin port that other machines reach without a token',
    ['--payment', 'open', '--admin-host', '0.0.0.0'],
    /--admin-host 0.0.0.0 needs --admin-token-file/,
  ],
])('serve refuses %s instead of ignoring it', (_what, args, message) => {
  expect(() => checkServeOptions(parsed(args))).toThrow(message)
})

test('the limits of a minute are options, and whole numbers', () => {
  expect(parsed([])).toMatchObject({
    salesPerWalletPerMinute: 20,
    quotesPerAddressPerMinute: 60,
  })
  expect(parsed(['--sales-per-wallet-per-minute', '200'])).toMatchObject({
    salesPerWalletPerMinute: 200,
  })
  for (const value of ['0', '-1', '1.5', 'many'])
    expect(() => parsed(['--quotes-per-address-per-minute', value])).toThrow()
})

test.each([
  [[], 'auto'],
  [['--dexes', 'auto'], 'auto'],
  [['--dexes', 'all'], 'all'],
  [['--dexes', 'off'], []],
  [['--dexes', ''], []],
  [
    ['--dexes', 'xyz, flx,xyz'],
    ['xyz', 'flx'],
  ],
])('%j selects the dexes %j', (args, dexes) => {
  expect(parsed(args).dexes).toEqual(dexes)
})

test.each(['XYZ', 'xyz,', 'a b'])('%s names no dexes', (text) => {
  expect(() => parsed(['--dexes', text])).toThrow(/not auto, all, off, or a list/)
})

test.each([
  ['--liquidation-feed-url', 'wss://a/b#c'],
  ['--source-url', 'okx=wss://a/b#c'],
])('%s refuses a URL with a fragment, which no websocket can open', (option, text) => {
  expect(() => parsed([option, text])).toThrow(/without a fragment/)
})

test('a listening address in brackets is loopback, and has no port of its own', () => {
  const options = parsed(['--payment', 'open', '--host', '[::1]', '--admin-host', '[::1]'])
  expect(options).toMatchObject({ host: '::1', adminHost: '::1' })
  expect(() => checkServeOptions(options)).not.toThrow()
})

test.each(['--broker', '--ledger'])(
  'the space around the URL of %s is not part of it',
  (option) => {
    expect(Object.values(parsed([option, ' valkey://h\r\n']))).toContain('valkey://h')
  },
)

const WALLET = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const FACILITATOR = ['--facilitator-url', 'http://127.0.0.1:1']

test.each([
  ['small letters', WALLET.toLowerCase()],
  ['capitals', `0x${WALLET.slice(2).toUpperCase()}`],
  ['its checksum', WALLET],
])('a payee in %s is spelled with its checksum', (_what, text) => {
  expect(parsed(['--pay-to', text]).payTo).toBe(WALLET)
})

test('a payee whose checksum is wrong is refused, with the right one', () => {
  const mistyped = WALLET.replace('aA', 'Aa')
  expect(() => parsed(['--pay-to', mistyped])).toThrow(
    new RegExp(`copy it again .* it is spelled ${WALLET}`),
  )
})

test.each([
  ['USDC itself', ['--pay-to', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'], /contract of USDC/],
  ['nobody', ['--pay-to', `0x${'0'.repeat(40)}`], /zero address/],
  [
    'the key that signs receipts',
    ['--receipt-key', KEY, '--pay-to', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'],
    /is the address of --receipt-key/,
  ],
])('serve refuses to have %s paid', (_what, args, message) => {
  expect(() => checkServeOptions(parsed([...FACILITATOR, ...args]))).toThrow(message)
})

test.each([
  ['a facilitator', ['--facilitator-url', 'http://127.0.0.1:1', '--facilitator-auth', 'Bearer x']],
  [
    'a facilitator and a node to look at the chain',
    ['--facilitator-url', 'http://127.0.0.1:1', '--rpc-url', 'http://127.0.0.1:1'],
  ],
  [
    'no gas for contract wallets that are off',
    [
      ...['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', KEY],
      ...['--contract-gas-per-hour', '0', '--contract-wallets', 'off'],
    ],
  ],
  ['a node and a key', ['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', KEY]],
])('serve takes %s', (_what, args) => {
  expect(() => checkServeOptions(parsed(args))).not.toThrow()
})
