import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buy, newPayment, PRICE } from './support/killed-sales.ts'
import type { Rig } from './support/service.ts'
import { childrenOf, startRig, until, untilAnswerable } from './support/service.ts'

/** What remains writable of every file: nothing that SQLite could use. */
const FILE_BYTES_MAX = 4_096

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'])
    return true
  } catch {
    return false
  }
}

describe.skipIf(!hasPrlimit())('a service on a machine', () => {
  let rig: Rig
  let pid: number

  beforeAll(async () => {
    rig = await startRig({ flags: ['--log-level', 'warn'] })
    await untilAnswerable(rig.url, 'BTC')
    // This process may run services of other tests.
    const { port } = new URL(rig.url)
    const service = childrenOf(process.pid).find(({ command }) =>
      command.includes(` --port ${port} `),
    )
    if (service === undefined) throw new Error('the service is a child of this process')
    pid = service.pid
  })

  afterAll(() => rig?.close())

  /** Soft, so that it can be lifted again. */
  function limitFiles(bytes: number | 'unlimited'): void {
    execFileSync('prlimit', [...ofService(), `--fsize=${bytes}:unlimited`])
  }

  async function admin(path: string): Promise<Record<string, unknown>> {
    return (await (await fetch(rig.adminUrl + path)).json()) as Record<string, unknown>
  }

  test('whose disk takes nothing more charges nothing, says so in one line, and sells again once there is room', async () => {
    const { address } = rig.chain.accounts.merchant
    const before = await rig.chain.balanceOf(address)
    const payment = await newPayment(rig)
    limitFiles(FILE_BYTES_MAX)
    const refused = await buy(rig, payment)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await refused.json()).toMatchObject({ code: 'ledger_busy', charged: false })
    await until(
      'nothing is quoted',
      async () => (await fetch(`${rig.url}/pulse/BTC`)).status === 503,
    )
    expect(await admin('/readyz?verbose')).toMatchObject({ reasons: ['ledger_writable'] })
    expect((await fetch(`${rig.url}/coins`)).status).toBe(200)
    const { warnings } = (await admin('/desk/control')) as { warnings: { text: string }[] }
    expect(JSON.stringify(warnings)).toMatch(/the disk of the payment ledger fails/)
    limitFiles('unlimited')
    await until('the same payment buys', async () => (await buy(rig, payment)).status === 200)
    expect((await rig.chain.balanceOf(address)) - before).toBe(PRICE)
  })

  test('without free file descriptors drops new connections alone, and recovers', async () => {
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => kept.destroy())
    expect(await status(kept)).toBe(200)
    const limit = Number(
      execFileSync('prlimit', [...ofService(), '--nofile', '--output=SOFT', '--noheadings']),
    )
    const open = readdirSync(`/proc/${pid}/fd`).length
    execFileSync('prlimit', [...ofService(), `--nofile=${open}:`])
    // More than the numbers that are free below the limit.
    const news = await Promise.all(Array.from({ length: 60 }, () => status(undefined)))
    expect(news).toContain(null)
    expect(await status(kept), 'on an open connection').toBe(200)
    execFileSync('prlimit', [...ofService(), `--nofile=${limit}:`])
    await until('new connections are taken', async () => (await status(undefined)) === 200)
  })

  /** null for a dropped connection. */
  async function status(agent: Agent | undefined): Promise<number | null> {
    const call = get(`${rig.url}/health`, { agent: agent ?? false })
    const response = await once(call, 'response').catch(() => null)
    if (response === null) return null
    const [message] = response as [IncomingMessage]
    await text(message)
    return message.statusCode ?? null
  }

  function ofService(): readonly string[] {
    return ['--pid', String(pid)]
  }
})
