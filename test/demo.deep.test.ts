import type { ChildProcess } from 'node:child_process'
import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import { pathOf } from '../src/domain/contract.ts'
import { usdcDecimal } from '../src/domain/usdc.ts'
import type { Installed } from './support/installed.ts'
import { installed, manifest } from './support/installed.ts'
import { hasPostgres } from './support/postgres.ts'
import { redisBinary } from './support/redis.ts'
import { childrenOf, marketCoins, runDemo, runScript, until } from './support/service.ts'

describe('perpscope demo', () => {
  const BASE = 'eip155:8453'
  const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
  /** Initial balance of the demo's buyer on each chain. */
  const FUNDED_ATOMIC = 1_000_000_000n
  const usdc = (atomic: bigint) => Number(usdcDecimal(atomic))
  /** Purchases alternate between the two networks. */
  const paidOn = (network: 0 | 1) =>
    contracts.reduce(
      (sum, { priceUsdcAtomic }, at) => (at % 2 === network ? sum + priceUsdcAtomic : sum),
      0n,
    )
  const moved = (atomic: bigint) => ({
    paid_usdc: usdc(atomic),
    received_usdc: usdc(atomic),
    seller_usdc: usdc(atomic),
    buyer_usdc: usdc(FUNDED_ATOMIC - atomic),
  })

  describe('from the tarball, with the packages that it names, in a checkout, until it is interrupted', () => {
    const lines: string[] = []
    const ran: string[] = []
    let output = ''

    let user: Installed
    let demo: ChildProcess | null = null

    beforeAll(async () => {
      // As a user has it: the service replaces itself.
      vi.stubEnv('MALLOC_ARENA_MAX', undefined)
      user = installed(
        [manifest.dependencies, manifest.peerDependencies].flatMap((names) => Object.keys(names)),
      )
      const ended = await runScript(user.main, ['demo', ...marketCoins, '--json'], {
        onStart: (child) => {
          demo = child
        },
        onLine: (line, child) => {
          lines.push(line)
          if (line.startsWith('curl') && line.endsWith('/llms.txt'))
            void pasted(lines, ran).finally(() => child.kill('SIGINT'))
        },
      })
      output = ended.output
    })

    afterAll(() => {
      // A command that reaches the time limit would run for ever.
      demo?.kill('SIGINT')
      user?.remove()
      vi.unstubAllEnvs()
    })

    test('buys every analysis, and prints one report and nothing else', () => {
      expect(lines, 'each stage in its own line').toEqual(
        expect.arrayContaining([
          'starting a local Base and a local Solana',
          ...contracts.map(({ id }) => `buying ${id}`),
        ]),
      )
      expect(output.trim().split('\n')).toHaveLength(1)
      const report = JSON.parse(output) as Record<string, unknown>
      expect(report).toEqual({
        ok: true,
        purchases: contracts.map((contract, at) => ({
          analysis: contract.id,
          path: pathOf(contract, 'BTC'),
          network: at % 2 === 0 ? BASE : SOLANA,
          price_usdc: expect.any(Number),
          status: 200,
          ms: expect.any(Number),
          bytes: expect.any(Number),
        })),
        accounts: [
          { network: BASE, ...moved(paidOn(0)) },
          { network: SOLANA, ...moved(paidOn(1)) },
        ],
        paid_usdc: usdc(paidOn(0) + paidOn(1)),
        received_usdc: usdc(paidOn(0) + paidOn(1)),
        elapsed_ms: expect.any(Number),
      })
    })

    test('shows commands that work as they are printed', () => {
      expect(
        lines.filter((line) => line.startsWith('{') && !isOfBusyMachine(line)),
        'no raw line of a log',
      ).toEqual([])
      expect(ran).toEqual([
        expect.stringMatching(/^\{"coins":\[.*"BTC"/),
        expect.stringMatching(/"coin":"BTC".*paid 0\.025 USDC on Base, transaction 0x/s),
        expect.stringMatching(/"coin":"BTC".*paid 0\.015 USDC on Solana, transaction /s),
        expect.stringMatching(/^BTC pays .* USDC on eip155:8453/s),
        expect.stringMatching(/^BTC: .* USDC on solana:/s),
        expect.stringContaining('screener'),
        expect.stringMatching(/^# perpscope/),
        expect.stringMatching(/<!doctype html>/i),
        expect.stringMatching(/<!doctype html>/i),
        expect.stringMatching(/<!doctype html>/i),
      ])
    })
  })

  test('of several processes names the programs that are missing, and starts nothing', async () => {
    const { code, errors } = await runDemo(['--cluster'], { env: { PATH: '/nonexistent' } })
    expect(code).toBe(78)
    expect(errors).toMatch(
      /valkey-server or redis-server \(Debian: redis-server\).*Nothing was started/,
    )
  })

  test.skipIf(redisBinary === null || !hasPostgres)(
    'of several processes sells everything, also after a leader and a gateway were killed',
    async () => {
      let children: number[] = []
      const { code, output, errors } = await runDemo(['--cluster', '--once', '--json'], {
        onLine: (line, { pid = 0 }) => {
          if (line === 'buying pulse') children = childrenOf(pid).map((child) => child.pid)
        },
      })
      expect(errors).toMatch(/leading engine by SIGKILL.*a gateway by SIGKILL/s)
      const report = JSON.parse(output) as { ok: boolean; purchases: { status: number }[] }
      expect(
        report.purchases.map(({ status }) => status),
        errors,
      ).toEqual(contracts.map(() => 200))
      expect([report.ok, code]).toEqual([true, 0])
      // Simulator, anvil, broker, PostgreSQL, two engines, two gateways.
      expect(children.length).toBeGreaterThanOrEqual(8)
      expect(children.filter(isRunning)).toEqual([])
    },
  )

  test('whose venue ends reports that it failed, and leaves nothing running', async () => {
    let children: number[] = []
    const { code, output, errors } = await runDemo(['--once', '--json'], {
      onLine: (line, { pid = 0 }) => {
        if (line !== 'starting the simulated venue') return
        void until('the venue starts', async () => {
          const found = childrenOf(pid)
          children = found.map((child) => child.pid)
          const venue = found.find(({ command }) => command.includes(' simulate '))
          return venue !== undefined && process.kill(venue.pid, 'SIGKILL')
        }).catch(() => process.kill(pid, 'SIGINT'))
      },
    })
    expect(code).toBe(1)
    expect(JSON.parse(output)).toMatchObject({ ok: false, purchases: [] })
    expect(errors).toContain('the demo failed: a child ended with SIGKILL')
    expect(children.length).toBeGreaterThanOrEqual(2)
    expect(children.filter(isRunning)).toEqual([])
  })

  test.each([
    ['starting the simulated venue', 2],
    ['starting the service and waiting for every analysis', 3],
  ])('that is interrupted while "%s" leaves nothing running', async (stage, count) => {
    let children: number[] = []
    const { output } = await runDemo(['--once', '--json'], {
      onLine: (line, child) => {
        if (line !== stage) return
        void until(`${count} children run`, async () => {
          children = childrenOf(child.pid ?? 0).map(({ pid }) => pid)
          // The process list may come when the next stage has begun.
          return children.length >= count
        })
          .catch(() => undefined)
          .finally(() => child.kill('SIGINT'))
      },
    })
    expect(output, 'there is nothing to report').toBe('')
    expect(children.length).toBeGreaterThanOrEqual(count)
    expect(children.filter(isRunning)).toEqual([])
  })
})

/** The demo itself is the node of the local Solana, and answers too late where it gets no processor for seconds. */
function isOfBusyMachine(line: string): boolean {
  const { level, what, reason } = JSON.parse(line) as Record<string, unknown>
  const isOfSolana = typeof what === 'string' && what.startsWith('solana:')
  return level === 50 && isOfSolana && reason === 'no valid answer from the node'
}

/** Runs the commands after the last empty line in sequence, in the folder that the demo names. */
async function pasted(lines: readonly string[], ran: string[]): Promise<void> {
  const [, cwd = ''] = /^Commands for another terminal, in (.*):$/.exec(lines.at(-9) ?? '') ?? []
  expect(cwd).toBe(process.cwd())
  for (const command of lines.slice(-7))
    ran.push(await runInShell(`{ ${command}; } 2>&1 || echo FAILED`, cwd))
  const pages = lines
    .join('\n')
    .matchAll(/^ {2}(?:console|operator's desk|documentation) +(\S+)$/gm)
  for (const [, page = ''] of pages)
    ran.push(await (await fetch(page, { headers: { accept: 'text/html' } })).text())
}

function runInShell(command: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: inheritedEnv(), maxBuffer: 10_000_000 }
    execFile('sh', ['-c', command], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
