import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../src/roles/system-clock.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { runCommand } from './support/service.ts'

describe('perpscope serve, started on a misconfigured machine,', () => {
  let busy: Server
  let busyPort: string
  let dataDir: string

  beforeAll(async () => {
    busy = createServer()
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    busyPort = String((busy.address() as AddressInfo).port)
    dataDir = await mkdtemp(join(tmpdir(), 'perpscope-serve-'))
  })

  afterAll(async () => {
    busy.close()
    await rm(dataDir, { recursive: true })
  })

  const open = () => ['serve', '--payment', 'open', '--data-dir', dataDir, '--log-level', 'silent']
  const settling = (rpcUrl: string) => [
    ...['serve', '--pay-to', `0x${'a'.repeat(40)}`, '--facilitator-key', `0x${'1'.repeat(64)}`],
    ...['--rpc-url', rpcUrl, '--data-dir', dataDir],
  ]

  test.each([
    ['its port', '--port', (port: string) => [...open(), '--port', port, '--admin-port', '0']],
    [
      'its admin port',
      '--admin-port',
      (port: string) => [...open(), '--port', '0', '--admin-port', port],
    ],
    ['the port of a simulator', '--port', (port: string) => ['simulate', '--port', port]],
  ])('says in one line that %s is busy, before the engine starts', async (_what, option, args) => {
    const { code, errors } = await runCommand(args(busyPort))
    expect(code).toBe(1)
    expect(errors.split('\n')).toEqual([
      expect.stringMatching(
        `^perpscope: the port is in use; give another port with ${option}: .*EADDRINUSE.* 127.0.0.1:${busyPort}$`,
      ),
    ])
    expect(existsSync(join(dataDir, 'engine.db'))).toBe(false)
  })

  test('starts without the settling node, with a warning', async () => {
    const { errors } = await runCommand([...settling('http://127.0.0.1:1'), '--port', busyPort])
    expect(errors).toContain('does not answer')
    expect(errors, 'it got as far as listening').toContain('EADDRINUSE')
  })

  test('warns of unclaimed money in payment channels that are off', async () => {
    const folder = join(dataDir, 'channels')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'channels.db'), '')
    const args = ['serve', '--payment', 'open', '--data-dir', folder, '--port', busyPort]
    const { errors } = await runCommand(args)
    expect(errors).toContain('payment channels are off')
  })

  test('does not settle on a chain other than the quoted one', async () => {
    const chain = await startEvmChain({ clock: systemClock })
    try {
      const args = [...settling(chain.rpcUrl), '--port', busyPort, '--network', 'base-sepolia']
      const { code, errors } = await runCommand(args)
      expect(code).toBe(78)
      expect(errors).toContain('serves chain 8453; --network base-sepolia is chain 84532')
    } finally {
      await chain.close()
    }
  })

  test.each([
    ['serve', (folder: string) => ['serve', '--payment', 'open', '--data-dir', folder]],
    [
      'record',
      (folder: string) => ['record', '--out', join(folder, 'x.plog'), '--data-dir', folder],
    ],
  ])('does not %s the venue from a folder that a simulator filled', async (_what, args) => {
    const folder = join(dataDir, 'simulated')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'market'), 'this machine\n')
    const { code, errors } = await runCommand(args(folder))
    expect(code).toBe(78)
    expect(errors).toMatch(/market at this machine, not at .*: give another --data-dir/)
    expect(existsSync(join(folder, 'engine.db'))).toBe(false)
  })
})
