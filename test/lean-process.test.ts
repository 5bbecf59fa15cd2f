import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { inheritedEnv } from '../src/config/environment.ts'
import { end } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { until } from './support/service.ts'

const MAIN = join(import.meta.dirname, '../dist/main.js')

/** On Linux a test can read the arguments of a running process. */
describe.runIf(process.platform === 'linux')(
  'serve replaces itself by a process that needs less',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'perpscope-lean-'))
    let child: ChildProcess | null = null

    afterEach(async () => {
      if (child !== null) await end(child, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })

    /** @returns the id of the process of `perpscope serve` */
    async function started(env: Readonly<Record<string, string>>): Promise<number> {
      const ports = ['--port', String(await freePort()), '--admin-port', String(await freePort())]
      const { MALLOC_ARENA_MAX: _, ...others } = inheritedEnv()
      child = spawn(
        process.execPath,
        [
          ...[
            '--enable-source-maps',
            MAIN,
            'serve',
            '--source',
            'http://127.0.0.1:9/info',
            ...ports,
          ],
          ...['--data-dir', folder, '--payment', 'open', '--log-level', 'info'],
        ],
        { env: { ...others, ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
      )
      const { pid } = child
      if (pid === undefined) throw new Error('the service did not start')
      return pid
    }

    /** @returns the first lines of its standard error */
    async function lines(count: number): Promise<readonly string[]> {
      const stderr = child?.stderr
      if (!stderr) throw new Error('the service did not start')
      const read: string[] = []
      for await (const line of createInterface({ input: stderr }))
        if (read.push(line) === count) return read
      throw new Error(`it ended after ${read.length} lines`)
    }
    const startOf = (pid: number) => ({
      args: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'),
      env: readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'),
    })

    test('with its id, its flags and its streams, and without a warning', async () => {
      const pid = await started({})
      const [said] = await lines(1)
      const { args, env } = startOf(pid)
      expect(args).toContain('--max-semi-space-size=2')
      expect(args).toContain('--max-old-space-size=1024')
      expect(args).toContain('--no-allocation-site-pretenuring')
      expect(args).toContain('--enable-source-maps')
      expect(args.filter((arg) => arg === 'serve')).toHaveLength(1)
      expect(env).toContain('MALLOC_ARENA_MAX=2')
      expect(said).not.toContain('Warning')
    })

    test('without a flag that the operator has chosen', async () => {
      const pid = await started({ NODE_OPTIONS: '--max_old_space_size=2048' })
      await until('it has replaced itself', async () =>
        startOf(pid).args.includes('--max-semi-space-size=2'),
      )
      expect(startOf(pid).args.join(' ')).not.toContain('--max-old-space-size')
    })

    test('before it reports an unknown variable', async () => {
      await started({ PERPSCOPE_SHARDS: '4' })
      const [first, second] = await lines(2)
      expect(first).toMatch(/PERPSCOPE_SHARDS is not a setting/)
      expect(second, 'a line of its log').toMatch(/^\{/)
    })

    test('not where the operator has chosen for themselves', async () => {
      const pid = await started({ MALLOC_ARENA_MAX: '7' })
      await lines(1)
      const { args, env } = startOf(pid)
      expect(args).not.toContain('--max-semi-space-size=2')
      expect(env).toContain('MALLOC_ARENA_MAX=7')
    })
  },
)
