import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../src/roles/system-clock.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { hasPostgres, postgresOfWorker } from './support/postgres.ts'
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
    expect(errors, 'the run book sends the operator here').toContain('this account pays the gas')
    expect(errors, 'it got as far as listening').toContain('EADDRINUSE')
  })

  test.each([
    { ledger: 'a file', flags: async () => [] },
    ...(hasPostgres
      ? [
          {
            ledger: 'PostgreSQL',
            flags: async () => ['--ledger', await (await postgresOfWorker()).createDatabase()],
          },
        ]
      : []),
  ])(
    'a start that fails late leaves nothing behind in $ledger',
    async ({ flags }) => {
      const folder = await mkdtemp(join(dataDir, 'late-'))
      const common = [...settling('http://127.0.0.1:1'), '--data-dir', folder, ...(await flags())]
      // Gateways of one ledger agree on these minutes: a dead one that still counts would refuse the next start.
      const start = (minutes: string, port = '0', ...more: string[]) => [
        ...[...common, '--public-url', 'http://127.0.0.1:1', '--admin-port', '0'],
        ...['--source', 'http://127.0.0.1:1', '--outside', 'off'],
        ...['--answers-minutes', minutes, '--port', port, ...more],
      ]
      const busyStart = await runCommand(start('10', busyPort))
      expect(busyStart.errors).toContain('EADDRINUSE')
      expect(busyStart.code).toBe(1)
      // Read at the beginning and, with everything open, for the admin port: the second time it is too short.
      const tokenFile = join(folder, 'token')
      execFileSync('mkfifo', [tokenFile])
      let isOpening = false
      const unreadable = await runCommand(start('20', '0', '--admin-token-file', tokenFile), {
        onStart: (child) => {
          onTestFinished(() => void child.kill('SIGKILL'))
          void writeFile(tokenFile, 't'.repeat(32))
        },
        onLine: (line) => {
          if (isOpening || !line.includes('USDC is paid to this address')) return
          isOpening = true
          void writeFile(tokenFile, 'short')
        },
      })
      expect(unreadable.errors).toContain('needs one token of 32 characters')
      expect(unreadable.code).toBe(78)
      const whole = await runCommand(start('30'), {
        onLine: (line, child) => {
          if (/ is up/.test(line)) child.kill('SIGTERM')
        },
      })
      expect(whole.errors).toContain(' is up')
      expect(whole.code).toBe(0)
      // What keeps a refused start alive keeps it for ever.
    },
    120_000,
  )

  test.skipIf(!hasPostgres).each(['SIGTERM', 'SIGINT'] as const)(
    'a start that %s ends leaves nothing behind in PostgreSQL',
    async (signal) => {
      // The start waits for the node that never answers, when its gateway is among those of the ledger.
      const silent = createServer()
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void silent.close())
      const { port: silentPort } = silent.address() as AddressInfo
      const ledger = await (await postgresOfWorker()).createDatabase()
      const start = (node: number, minutes: string) => [
        ...[...settling(`http://127.0.0.1:${node}`), '--ledger', ledger, '--port', busyPort],
        ...['--public-url', 'http://127.0.0.1:1', '--answers-minutes', minutes],
      ]
      const ended = await runCommand(start(silentPort, '10'), {
        onLine: (line, child) => {
          if (line.includes('this account pays the gas')) child.kill(signal)
        },
      })
      expect(ended.errors).toContain('ended by a signal')
      expect(ended.code).toBe(0)
      expect(ended.errors, 'it waits for no node').not.toContain('does not answer')
      const next = await runCommand(start(1, '20'))
      expect(next.errors).toContain('EADDRINUSE')
      expect(next.code).toBe(1)
    },
    60_000,
  )

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
