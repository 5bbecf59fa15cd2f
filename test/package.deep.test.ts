import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { generatePrivateKey } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LockedPackage } from '../sbom.ts'
import { installedWith } from '../sbom.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import { program } from '../src/program.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import type { Installed } from './support/installed.ts'
import { bytesOf, installed, manifest, ROOT } from './support/installed.ts'
import { mainMarketOnly, oneCoin, until } from './support/service.ts'

const TARBALL_BYTES_MAX = 3_000_000
const INSTALLED_BYTES_MAX = 60_000_000
const PACKAGES_MAX = 120
const CANDLES = join(ROOT, 'src/compute/indicators/fixtures/flat-stretch-table.csv')

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage & { readonly hasInstallScript?: true }>>
}

describe('a user who installs the package', () => {
  let user: Installed

  beforeAll(() => {
    user = installed(Object.keys(manifest.dependencies))
  })

  afterAll(() => user.remove())

  test('gets a small tarball, few packages and no install script', () => {
    const packages = installedWith(Object.keys(manifest.dependencies), lock.packages)
    const here = packages.filter((path) => existsSync(join(ROOT, path)))
    const bytes = here.map((path) => bytesOf(join(ROOT, path)))
    expect(packages.filter((path) => lock.packages[path]?.hasInstallScript)).toEqual([])
    expect(here.length).toBeGreaterThan(10)
    expect(here.length + 1).toBeLessThanOrEqual(PACKAGES_MAX)
    expect(user.tarballBytes).toBeLessThanOrEqual(TARBALL_BYTES_MAX)
    expect(bytes.reduce((sum, some) => sum + some, user.packageBytes)).toBeLessThanOrEqual(
      INSTALLED_BYTES_MAX,
    )
  })

  test('gets the licences of all contents, and no source map', () => {
    const files = readdirSync(join(user.main, '..'), { recursive: true, encoding: 'utf8' })
    expect(files).toContain('THIRD-PARTY-NOTICES.txt')
    expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
  })

  test('gets what an operator runs beside the service', () => {
    const files = ['caddy/Caddyfile', 'prometheus/one-machine.yml', 'systemd/perpscope.service']
    for (const file of [...files, 'grafana/dashboards/money.json'])
      expect(existsSync(join(user.main, '../../deploy', file)), file).toBe(true)
  })

  // What each command needs beyond that is loaded when it runs, not for its help.
  test('has help for every command', () => {
    const { code, output } = user.run(['--help'])
    expect(code).toBe(0)
    const commands = Array.from(output.matchAll(/^ {2}([a-z-]+) .*/gm), ([, name = '']) => name)
    expect(commands).toEqual([...program.commands.map((command) => command.name()), 'help'])
    expect(user.run(['serve', '--help'])).toMatchObject({
      code: 0,
      output: expect.stringContaining('Usage: perpscope serve '),
    })
  })

  test('verifies signatures by the native library', async () => {
    const { default: binding } = await import(join(user.main, '../secp256k1/secp256k1.cjs'))
    expect(binding.ecdsaRecover).toBeTypeOf('function')
  })

  test('computes indicators', () => {
    const rows = readFileSync(CANDLES, 'utf8').trim().split('\n')
    const candles = join(user.folder, 'candles.csv')
    writeFileSync(candles, rows.map((row) => row.split(',').slice(0, 6).join(',')).join('\n'))
    const { code, output, errors } = user.run(['indicators', candles])
    expect(code, errors).toBe(0)
    expect(output.trim().split('\n')).toHaveLength(rows.length - 1)
  })

  test('sells, records, backs up and restores', async () => {
    const cleanups: (() => Promise<void>)[] = []
    const start = (args: readonly string[], output: 'pipe' | 'ignore') => {
      const child = launch(user.main, args, output)
      cleanups.push(() => end(child))
      return child
    }
    try {
      const simulator = start(['simulate', ...oneCoin, '--weight-per-minute', '60000'], 'pipe')
      const { venue } = JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }
      const [port, adminPort] = [await freePort(), await freePort()]
      const url = `http://127.0.0.1:${port}`
      const dataDir = join(user.folder, 'data')
      const recording = join(user.folder, 'recorded.frames')
      const source = ['--source', venue.http, '--payment', 'open', ...mainMarketOnly]
      const service = start(
        [
          ...['serve', ...source, '--data-dir', dataDir, '--record', recording],
          ...['--port', String(port), '--admin-port', String(adminPort)],
          ...['--log-level', 'silent', '--weight-per-minute', '50000'],
        ],
        'ignore',
      )
      await until('a pulse is answered', async () => (await fetch(`${url}/pulse/BTC`)).ok)
      expect(user.run(['maintenance', 'on', '--admin-port', String(adminPort)]).code).toBe(0)
      expect((await fetch(`${url}/pulse/BTC`)).status).toBe(503)
      expect(user.run(['maintenance', 'off', '--admin-port', String(adminPort)]).code).toBe(0)

      const bridge = new Client({ name: 'test', version: '1.0.0' })
      await bridge.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [user.main, 'mcp', '--url', url],
          env: { ...inheritedEnv(), PERPSCOPE_WALLET_KEY: generatePrivateKey() },
        }),
      )
      cleanups.push(() => bridge.close())
      expect((await bridge.listTools()).tools.length).toBeGreaterThanOrEqual(contracts.length)

      const doctor = user.run(['doctor', ...source, '--json', '--port', String(await freePort())])
      expect(JSON.parse(doctor.output)).toBeTypeOf('object')
      await end(service)
      const ledger = user.run(['ledger', '--data-dir', dataDir, '--json'])
      expect(ledger.errors, 'nothing was sold for money').toContain('there is no payment ledger')
      const replayed = user.run(['replay', recording, '--json'])
      expect(replayed.code, replayed.errors).toBe(0)
      const backup = user.run(['backup', join(user.folder, 'backup'), '--data-dir', dataDir])
      expect(backup.code, backup.errors).toBe(0)
      const restored = join(user.folder, 'restored')
      const restore = user.run(['restore', join(user.folder, 'backup'), '--data-dir', restored])
      expect(restore.code, restore.errors).toBe(0)
      expect(existsSync(join(restored, 'engine.db'))).toBe(true)
    } finally {
      for (const cleanup of cleanups.toReversed()) await cleanup()
    }
  })

  test('sees the command that installs the local chains of the demo', () => {
    // The others are for traces.
    const packages = Object.entries(manifest.peerDependencies)
      .filter(([name]) => !name.startsWith('@opentelemetry/'))
      .map(([name, version]) => `${name}@${version}`)
    expect(packages).toHaveLength(2)
    const { code, output, errors } = user.run(['demo', '--once'])
    expect({ code, output }).toEqual({ code: 78, output: '' })
    expect(errors.trim().split('\n')).toHaveLength(1)
    expect(errors).toContain(`\`npm install ${packages.join(' ')}\``)
  })
})
