import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pulse } from '../../src/compute/analyses/pulse/pulse.ts'
import { inheritedEnv } from '../../src/config/environment.ts'
import type { Rig } from '../support/service.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')

export function probeTests(service: () => Rig): void {
  describe.concurrent('perpscope probe', () => {
    test('checks a service once without paying', async () => {
      const { code, lines } = await probe(service().url, '--once')
      expect(code).toBe(0)
      expect(lines).toMatchObject([
        { check: 'health', outcome: 'ok', availability_pct: 100, reason: null },
        { check: 'quote', outcome: 'ok', availability_pct: 100, reason: null },
      ])
      expect(lines[1]?.['age_seconds']).toBeLessThan(60)
      expect(lines[0]?.['latency_ms']).toBeGreaterThan(0)
    })

    test('buys within the budget of a day, and skips what is above it', async () => {
      const { accounts } = service().chain
      const keyFile = join(service().dataDir, 'probe.key')
      await writeFile(keyFile, accounts.buyer.privateKey, { mode: 0o600 })
      const price = Number(pulse.contract.priceUsdcAtomic) / 1e6
      const bought = ['--buy', '/pulse/BTC', '--key-file', keyFile, '--once']
      const { code, lines } = await probe(service().url, ...bought)
      expect(code).toBe(0)
      expect(lines[2]).toMatchObject({ check: 'buy', outcome: 'ok', reason: null })
      expect(lines[2]?.['age_seconds']).toBeLessThan(60)
      const poor = await probe(service().url, ...bought, '--budget', String(price / 2))
      expect(poor.code).toBe(1)
      expect(poor.lines[2]).toMatchObject({ check: 'buy', outcome: 'failed' })
      expect(poor.lines[2]?.['reason']).toContain('nothing was signed')
    })

    test('fails where nothing answers, and where the path is not sold', async () => {
      const dead = await probe('http://127.0.0.1:9', '--once')
      expect(dead.code).toBe(1)
      expect(dead.lines.map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
      const wrong = await probe(service().url, '--once', '--quote', '/pulse/NOTACOIN')
      expect(wrong.code).toBe(1)
      expect(wrong.lines[1]).toMatchObject({ outcome: 'failed', reason: '400 invalid_coin' })
    })

    test('a purchase needs a key', async () => {
      const { code, error } = await probe(service().url, '--once', '--buy', '/pulse/BTC')
      expect(code).toBe(2)
      expect(error).toContain('--buy and --key-file are given together')
    })
  })
}

/** Runs the command to its end. */
function probe(url: string, ...flags: readonly string[]) {
  return new Promise<{
    readonly code: number
    readonly lines: readonly Readonly<Record<string, unknown>>[]
    readonly error: string
  }>((resolve) => {
    const options = { env: inheritedEnv() }
    execFile(process.execPath, [MAIN, 'probe', url, ...flags], options, (cause, out, error) => {
      const lines = out
        .trim()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      resolve({ code: typeof cause?.code === 'number' ? cause.code : 0, lines, error })
    })
  })
}
