import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { inheritedEnv } from '../src/config/environment.ts'
import { end, firstLineOf } from '../src/roles/child-process.ts'
import { fewCoins, runCommand } from './support/service.ts'

const MAIN = join(import.meta.dirname, '../dist/main.js')
const START_MS = Date.UTC(2026, 0, 1, 12)

test('perpscope simulate shows the present, however long its market takes to prepare', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-present-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const child = spawn(process.execPath, [MAIN, 'simulate', '--past', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: inheritedEnv(),
  })
  onTestFinished(() => end(child))
  const { venue } = JSON.parse(await firstLineOf(child)) as { venue: { http: string } }
  const requestedAtMs = Date.now()
  const response = await fetch(venue.http, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"type":"exchangeStatus"}',
  })
  const { time } = (await response.json()) as { time: number }
  // What the venue publishes is up to 0.9 s old.
  expect(
    time,
    'a venue that stays behind has a clock that services do not trust',
  ).toBeGreaterThanOrEqual(requestedAtMs - 1_000)
})

describe('perpscope simulate --faults', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-faults-'))
  })

  afterAll(() => rm(folder, { recursive: true }))

  const written = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, text)
    return path
  }

  test('executes the faults of the file, and reports each on standard error', async () => {
    const path = await written(
      'faults.jsonl',
      `{"at_ms":0,"kind":"rest-outage","how":"500","duration_ms":86400000}
       {"at_ms":4000,"kind":"drop-connections","every_ms":4000}`,
    )
    const args = [
      ...['simulate', '--faults', path, ...fewCoins],
      ...['--speed', '20', '--start-ms', String(START_MS)],
    ]
    const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: inheritedEnv(),
    })
    onTestFinished(() => end(child))
    const told: string[] = []
    const errors = createInterface({ input: child.stderr ?? process.stdin })
    errors.on('line', (line) => told.push(line))
    const { venue } = JSON.parse(await firstLineOf(child)) as {
      venue: { http: string; ws: string }
    }

    const socket = new WebSocket(venue.ws)
    const [code] = await once(socket, 'close')
    expect(code).toBe(1006)
    const headers = { 'content-type': 'application/json' }
    const body = '{"type":"exchangeStatus"}'
    while (told.length < 3) await once(errors, 'line')
    const { status } = await fetch(venue.http, { method: 'POST', headers, body })
    expect(status).toBe(500)

    await end(child)
    expect(child.exitCode).toBe(0)
    const [outage, ...drops] = told.map(
      (line) => /^fault (\S+) (\{.*\})(?: had no target)?$/.exec(line) ?? [],
    )
    // A second of a slow start is twenty of the venue.
    expect(outage?.[1]).toMatch(/^2026-01-01T12:/)
    expect(JSON.parse(outage?.[2] ?? '')).toMatchObject({ kind: 'rest-outage', how: '500' })
    expect(drops.length).toBeGreaterThanOrEqual(2)
    for (const [, , entry] of drops)
      expect(JSON.parse(entry ?? '')).toMatchObject({ kind: 'drop-connections' })
  })

  // A fault of each check. What else is wrong in a file is a matter of `fault-script.test.ts`.
  test.each([
    ['a misspelt kind', '{"at_ms":0,"kind":"drop"}', ':1: kind must be one of drop-connections'],
    [
      'an unknown coin of a dex',
      '\n{"at_ms":0,"kind":"delist","coin":"xyz:NOPE"}',
      ':2: xyz:NOPE is not listed then',
    ],
  ])('does not start with %s, and says where and why', async (_, text, message) => {
    const path = await written('bad.jsonl', text)
    const { code, output, errors } = await runCommand(['simulate', '--faults', path, ...fewCoins])
    expect(code).toBe(1)
    expect(errors).toContain(`${path}${message}`)
    expect(output).toBe('')
  })
})
