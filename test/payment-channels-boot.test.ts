import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { checkServeOptions } from '../src/config/check-serve.ts'
import type { ServeOptions } from '../src/config/serve.ts'
import { serveOptions } from '../src/config/serve.ts'
import { SqliteChannelStore } from '../src/payment/channels/sqlite-channel-store.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { paymentChannels } from '../src/roles/payment-channels.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { startAnvil } from '../src/simulator/evm/anvil-process.ts'

const KEY = `0x${'11'.repeat(32)}` as const
const BASE = ['--pay-to', `0x${'a1'.repeat(20)}`]
const NODE = ['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', KEY]
const ON = ['--payment-channels', 'on']
const log = pino({ level: 'silent' })
const books = {
  recordCost: () => undefined,
  openChannels: async () => ({ store: new SqliteChannelStore(':memory:') }),
}

const facilitator = localFacilitator({
  ...{ network: base, rpcUrl: 'http://127.0.0.1:1', privateKey: KEY, clock: systemClock },
})

function parsed(args: readonly string[]): ServeOptions {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  for (const option of serveOptions) command.addOption(option)
  return command.parse(args, { from: 'user' }).opts<ServeOptions>()
}

test('channels are off unless they are asked for', async () => {
  const options = parsed([...BASE, ...NODE])
  expect(options.paymentChannels).toBe('off')
  expect(await paymentChannels(options, log, new Registry(), books, facilitator)).toBeNull()
})

test('an unreadable file of channels causes the same warning as an existing one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-channels-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  symlinkSync('channels.db', join(dataDir, 'channels.db'))
  const lines: string[] = []
  const hearing = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  const options = parsed([...BASE, ...NODE, '--data-dir', dataDir])
  expect(await paymentChannels(options, hearing, new Registry(), books, facilitator)).toBeNull()
  expect(lines).toEqual([expect.stringMatching(/channels\.db may hold .*ELOOP/)])
})

test('the help states that channels are not proven on a public network', () => {
  const help = serveOptions.find(({ long }) => long === '--payment-channels')?.description
  expect(help).toMatch(/NOT proven on a public network/)
})

test('channels without a node and a key of our own are refused', () => {
  const hosted = ['--facilitator-url', 'http://127.0.0.1:1']
  expect(() => checkServeOptions(parsed([...BASE, ...hosted, ...ON]))).toThrow(
    /--payment-channels on needs --rpc-url and --facilitator-key/,
  )
  expect(() => checkServeOptions(parsed([...BASE, ...NODE, ...ON]))).not.toThrow()
})

test('channels on a chain without the contract are refused', async () => {
  const anvil = await startAnvil([], systemClock)
  onTestFinished(() => anvil.close())
  const node = ['--rpc-url', anvil.rpcUrl, '--facilitator-key', KEY]
  const options = parsed([...BASE, ...node, ...ON])
  await expect(paymentChannels(options, log, new Registry(), books, facilitator)).rejects.toThrow(
    /no channel contract/,
  )
})

test('a node that is down now may be up for the first payment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-channels-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const options = parsed([...BASE, ...NODE, ...ON, '--data-dir', folder])
  const channels = await paymentChannels(options, log, new Registry(), books, facilitator)
  expect(channels?.method.extra).toMatchObject({ withdrawDelay: 86_400 })
  await channels?.stop()
})
