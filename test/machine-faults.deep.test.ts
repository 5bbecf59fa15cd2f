import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  globSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Agent as Dispatcher, fetch as fetchFrom } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { DoctorFinding } from '../src/domain/desk-reports.ts'
import { buy, newPayment, PRICE } from './support/killed-sales.ts'
import type { Rig } from './support/service.ts'
import {
  childrenOf,
  mainMarketOnly,
  oneCoin,
  runCommand,
  startRig,
  until,
  untilAnswerable,
} from './support/service.ts'

/** What remains writable of every file: nothing that SQLite could use. */
const FILE_BYTES_MAX = 4_096

/** The line of the log that names the remedy. */
const TOO_MANY = /opening files and connections.*EMFILE: too many open files/

/** Twice what a service with one coin opens without a caller. */
const FILES_MAX = 160

/** Of a disk whose file system can be made read-only: enough for a service with one coin. */
const DISK_BYTES = 96 * 1_048_576

/** Of the package libfaketime, which sets the clock of one process. */
const [FAKETIME] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

function hasPrlimit(): boolean {
  return spawnSync('prlimit', ['--version']).status === 0
}

/** Also where this process is root without the right to mount. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-mount-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder])
  if (status === 0) execFileSync('umount', [folder])
  rmSync(folder, { recursive: true })
  return status === 0
}

const hasMounts = canMount()

/** An empty disk. @returns its folder */
function mounted(options: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
  return folder
}

function unmount(folder: string): void {
  execFileSync('umount', [folder])
  rmSync(folder, { recursive: true })
}

/** A disk in a file, which the kernel can make read-only under open files as after an error. null where none can be mounted */
function imageDisk(): { readonly folder: string; readonly image: string } | null {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-disk-'))
  const image = `${folder}.image`
  writeFileSync(image, '')
  truncateSync(image, DISK_BYTES)
  const made = spawnSync('mkfs.ext4', ['-q', '-F', image])
  const options = ['-t', 'ext4', '-o', 'loop,errors=remount-ro']
  if (made.status === 0 && spawnSync('mount', [...options, image, folder]).status === 0)
    return { folder, image }
  rmSync(folder, { recursive: true })
  rmSync(image)
  return null
}

type LogLine = { readonly message: string; readonly details: string }

/** Warnings and errors of the log whose message or details match, the newest first. */
async function linesOf(
  adminUrl: string,
  pattern: RegExp,
  agent?: Agent,
): Promise<readonly LogLine[]> {
  const [message] = (await once(get(`${adminUrl}/desk/control`, { agent }), 'response')) as [
    IncomingMessage,
  ]
  const { warnings } = JSON.parse(await text(message)) as { readonly warnings: readonly LogLine[] }
  return warnings.filter(({ message, details }) => pattern.test(`${message} ${details}`))
}

/** By the sale itself, or by the check of the ledger, which looks every 15 s and may come before it. */
async function expectUncharged(refused: Response): Promise<void> {
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({
    code: expect.toBeOneOf(['ledger_busy', 'service_not_ready']),
    ...{ charged: false, payment_reusable: true },
  })
}

/** One line by the sale; none where the check of the ledger came before it, and wrote its own. */
async function expectOneLine(adminUrl: string, bySale: string, byCheck: string): Promise<void> {
  const ofSale = await linesOf(adminUrl, new RegExp(bySale))
  expect(ofSale.length).toBeLessThanOrEqual(1)
  expect(await linesOf(adminUrl, new RegExp(`${bySale}|${byCheck}`))).not.toEqual([])
}

describe('a service on a machine', () => {
  let rig: Rig
  let disk: string | null = null
  let pid: number

  beforeAll(async () => {
    if (hasMounts) disk = mounted('size=96m')
    const dataDir = disk === null ? [] : ['--data-dir', disk]
    const flags = [...mainMarketOnly, '--log-level', 'warn', ...dataDir]
    rig = await startRig({ coins: oneCoin, flags })
    await untilAnswerable(rig.url, 'BTC')
    // This process may run services of other tests.
    const { port } = new URL(rig.url)
    const service = childrenOf(process.pid).find(({ command }) =>
      command.includes(` --port ${port} `),
    )
    if (service === undefined) throw new Error('the service is a child of this process')
    pid = service.pid
  })

  // After a test that failed it notices some seconds later that all is well again.
  beforeEach(() => until('it is ready', async () => (await fetch(`${rig.adminUrl}/readyz`)).ok))

  afterAll(async () => {
    await rig?.close()
    if (disk !== null) unmount(disk)
  })

  /** Soft, so that it can be lifted again. */
  function limitFiles(bytes: number | 'unlimited'): void {
    execFileSync('prlimit', [...ofService(), `--fsize=${bytes}:unlimited`])
  }

  /** Soft, so that it can be lifted again. */
  function limitOpenFiles(count: number): void {
    execFileSync('prlimit', [...ofService(), `--nofile=${count}:`])
  }

  async function admin(path: string): Promise<Record<string, unknown>> {
    return (await (await fetch(rig.adminUrl + path)).json()) as Record<string, unknown>
  }

  test.skipIf(!hasPrlimit())(
    'whose disk takes nothing more charges nothing, says so in one line, and sells again once there is room',
    async () => {
      const { address } = rig.chain.accounts.merchant
      const before = await rig.chain.balanceOf(address)
      const payment = await newPayment(rig)
      onTestFinished(() => limitFiles('unlimited'))
      limitFiles(FILE_BYTES_MAX)
      await expectUncharged(await buy(rig, payment))
      await until(
        'nothing is quoted',
        async () => (await fetch(`${rig.url}/pulse/BTC`)).status === 503,
      )
      expect(await admin('/readyz?verbose')).toMatchObject({ reasons: ['ledger_writable'] })
      expect((await fetch(`${rig.url}/coins`)).status).toBe(200)
      await expectOneLine(rig.adminUrl, 'payment ledger fails', 'be written: disk I/O error')
      limitFiles('unlimited')
      await until('the same payment buys', async () => (await buy(rig, payment)).status === 200)
      expect((await rig.chain.balanceOf(address)) - before).toBe(PRICE)
    },
  )

  test.skipIf(!hasPrlimit())(
    'without free file descriptors serves open connections, says so in one line, and recovers',
    async () => {
      const limit = Number(
        execFileSync('prlimit', [...ofService(), '--nofile', '--output=SOFT', '--noheadings']),
      )
      const open = readdirSync(`/proc/${pid}/fd`).length
      const [kept, many] = [
        new Agent({ keepAlive: true, maxSockets: 1 }),
        // Its connections stay open: enough for every number below the limit, whatever the service closes meanwhile.
        new Agent({ keepAlive: true, maxSockets: open, maxFreeSockets: open }),
      ]
      onTestFinished(() => kept.destroy())
      onTestFinished(() => many.destroy())
      let [calls, dropped] = [0, 0]
      const fill = () => {
        for (; calls < open; calls += 1)
          void status(many).then((code) => {
            calls -= 1
            if (code === null) dropped += 1
          })
      }
      expect(await status(kept)).toBe(200)
      expect(await linesOf(rig.adminUrl, TOO_MANY, kept)).toEqual([])
      onTestFinished(() => limitOpenFiles(limit))
      limitOpenFiles(open)
      await until('it is logged', async () => {
        fill()
        expect.soft(await status(kept), 'on an open connection').toBe(200)
        return (await linesOf(rig.adminUrl, TOO_MANY, kept)).length > 0
      })
      expect(dropped + calls, 'new connections without an answer').toBeGreaterThan(0)
      // Heartbeats and metrics of several seconds, some of which would open files.
      const untilSeconds = (await upSeconds(kept)) + 8
      await until('time passes', async () => (await upSeconds(kept)) >= untilSeconds)
      limitOpenFiles(limit)
      await until('new connections are accepted', async () => (await status(undefined)) === 200)
      expect(await linesOf(rig.adminUrl, TOO_MANY)).toMatchObject([
        { details: expect.stringContaining('Raise LimitNOFILE= of the unit, or ulimit -n') },
      ])
      expect(await linesOf(rig.adminUrl, /engine-(exited|killed)/)).toEqual([])
      await until('it is ready', async () => (await fetch(`${rig.adminUrl}/readyz`)).ok)
    },
  )

  test.skipIf(!hasMounts)(
    'whose disk is full charges nothing, says so in one line, and sells again once there is room',
    async () => {
      const { address } = rig.chain.accounts.merchant
      const before = await rig.chain.balanceOf(address)
      const filler = join(disk ?? '', 'filler')
      onTestFinished(() => rmSync(filler, { force: true }))
      fill(filler)
      let [payment, payments] = ['', 0n]
      let last: Response
      // Sales that fit into the present log of the ledger are still made.
      do {
        payment = await newPayment(rig)
        payments += 1n
        last = await buy(rig, payment)
      } while (last.status === 200)
      expect(last.status).toBe(503)
      expect(await last.json()).toMatchObject({
        // null where the end of its settlement did not fit.
        ...{ charged: expect.toBeOneOf([false, null]), payment_reusable: true },
      })
      await until('the ledger is reported', async () => {
        const ready = await (await fetch(`${rig.adminUrl}/readyz`)).json()
        return (ready as { reasons: readonly string[] }).reasons.includes('ledger_writable')
      })
      expect((await fetch(`${rig.url}/coins`)).status).toBe(200)
      await expectOneLine(rig.adminUrl, 'payment ledger is full', 'be written: .* is full')
      rmSync(filler)
      await until('the same payment buys', async () => (await buy(rig, payment)).status === 200)
      expect((await rig.chain.balanceOf(address)) - before).toBe(PRICE * payments)
    },
  )

  test('that is frozen is reported by the doctor, which does not wait for it', async () => {
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
    const beganMs = performance.now()
    const { port } = new URL(rig.url)
    const { output, code } = await runCommand([
      ...['doctor', '--json', '--payment', 'open', '--source', 'http://127.0.0.1:1'],
      ...['--outside', 'off', '--data-dir', disk ?? rig.dataDir],
      ...['--port', port, '--admin-port', String(rig.adminPort)],
    ])
    // It waits for one answer, at most 10 s, on a machine that may be busy.
    expect(performance.now() - beganMs).toBeLessThan(30_000)
    expect(code).toBe(1)
    const { checks } = JSON.parse(output) as { readonly checks: readonly DoctorFinding[] }
    expect(checks.find(({ check }) => check === 'service')).toMatchObject({
      status: 'warn',
      found: `the data directory is in use, but nothing answers on admin port ${rig.adminPort}`,
      advice: expect.stringContaining('check whether it hangs'),
    })
    expect(checks.find(({ check }) => check === 'ports')).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('EADDRINUSE'),
    })
    process.kill(pid, 'SIGCONT')
    await until(
      'it sells again',
      async () => (await buy(rig, await newPayment(rig))).status === 200,
    )
  })

  /** The service may take some of the room first. */
  function fill(path: string): void {
    const { bavail, bsize } = statfsSync(dirname(path))
    try {
      writeFileSync(path, Buffer.alloc(bavail * bsize))
    } catch (cause) {
      expect(cause).toMatchObject({ code: 'ENOSPC' })
    }
  }

  async function upSeconds(agent: Agent): Promise<number> {
    const [message] = (await once(get(`${rig.url}/health`, { agent }), 'response')) as [
      IncomingMessage,
    ]
    return (JSON.parse(await text(message)) as { uptime_seconds: number }).uptime_seconds
  }

  /** null for a connection that ends without an answer. */
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

test.skipIf(!hasPrlimit())(
  'a service that may open few files sells to a new buyer while nine addresses hold what they can',
  async () => {
    const limitItself = `import { execFileSync } from 'node:child_process'
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=${FILES_MAX}:${FILES_MAX}'])`
    const rig = await startRig({
      coins: oneCoin,
      // The connections of a trusted proxy have no limit of their own.
      flags: [...mainMarketOnly, '--log-level', 'warn', '--trust-proxy', '192.0.2.1'],
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(limitItself)}` },
    })
    onTestFinished(() => rig.close())
    await untilAnswerable(rig.url, 'BTC')
    const { hostname, port } = new URL(rig.url)
    const strangers = Array.from({ length: 9 * 40 }, (_, at) =>
      connect({ host: hostname, port: Number(port), localAddress: `127.0.0.${2 + (at % 9)}` })
        // Those beyond the limit are closed.
        .on('error', () => undefined),
    )
    onTestFinished(() => {
      for (const stranger of strangers) stranger.destroy()
    })
    const open = () => strangers.filter(({ closed }) => !closed).length
    await until('those beyond the limit are closed', async () => open() < FILES_MAX / 3)
    // Not on the connection of the calls before, which is older than those of the strangers.
    const dispatcher = new Dispatcher()
    onTestFinished(() => dispatcher.close())
    const speak = ((url: string, init: object) =>
      fetchFrom(url, { ...init, dispatcher })) as unknown as typeof fetch
    expect((await buy(rig, await newPayment(rig), speak)).status).toBe(200)
    expect(await linesOf(rig.adminUrl, TOO_MANY)).toEqual([])
  },
)

describe.skipIf(FAKETIME === undefined)('a service whose clock is set', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-clock-'))
  const offset = join(folder, 'offset')
  let rig: Rig

  beforeAll(async () => {
    setClock(0)
    rig = await startRig({
      coins: oneCoin,
      flags: [...mainMarketOnly, '--log-level', 'warn'],
      env: {
        LD_PRELOAD: FAKETIME ?? '',
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    })
    await untilAnswerable(rig.url, 'BTC')
  })

  afterAll(async () => {
    await rig?.close()
    rmSync(folder, { recursive: true })
  })

  test.each([3_600, -3_600])(
    'by %i s sells nothing, says so in one line, and sells again once it is right',
    async (seconds) => {
      await until('it is sold', async () => (await pulse()).status === 402)
      const before = (await linesOfClock()).length
      onTestFinished(() => setClock(0))
      setClock(seconds)
      await until('nothing is quoted', async () => (await pulse()).status === 503)
      const refused = await pulse()
      expect(await refused.json()).toMatchObject({
        ...{ code: 'service_not_ready', check: 'clock', charged: false },
      })
      expect(refused.headers.get('retry-after')).toBe('5')
      const ready = await (await fetch(`${rig.adminUrl}/readyz?verbose`)).json()
      expect(ready).toMatchObject({ reasons: expect.arrayContaining(['clock']) })
      await until('it is logged', async () => (await linesOfClock()).length > before)
      expect((await linesOfClock()).length - before).toBe(1)
      setClock(0)
      await until('it is sold again', async () => (await pulse()).status === 402)
    },
  )

  const pulse = () => fetch(`${rig.url}/pulse/BTC`)

  const linesOfClock = () => linesOf(rig.adminUrl, /clock-stepped/)

  function setClock(seconds: number): void {
    writeFileSync(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  }
})

test('a disk that becomes read-only charges nothing, is named in one line, and free paths are served', async ({
  skip,
}) => {
  const disk = imageDisk()
  if (disk === null) return skip('no disk in a file can be mounted here')
  onTestFinished(() => {
    unmount(disk.folder)
    rmSync(disk.image)
  })
  const flags = [...mainMarketOnly, '--log-level', 'warn', '--data-dir', disk.folder]
  const rig = await startRig({ coins: oneCoin, flags })
  onTestFinished(() => rig.close())
  await untilAnswerable(rig.url, 'BTC')
  const { address } = rig.chain.accounts.merchant
  const before = await rig.chain.balanceOf(address)
  const payment = await newPayment(rig)
  execFileSync('mount', ['-o', 'remount,abort', disk.folder])
  await expectUncharged(await buy(rig, payment))
  await until('nothing is quoted', async () => (await fetch(`${rig.url}/pulse/BTC`)).status === 503)
  const ready = await (await fetch(`${rig.adminUrl}/readyz?verbose`)).json()
  expect(ready).toMatchObject({ reasons: ['ledger_writable'] })
  await until('history waits in memory', async () => {
    const { store } = (await (await fetch(`${rig.adminUrl}/store`)).json()) as {
      readonly store: { readonly state: string }
    }
    return store.state === 'degraded'
  })
  expect((await fetch(`${rig.url}/coins`)).status).toBe(200)
  await expectOneLine(rig.adminUrl, 'payment ledger', 'the ledger cannot be written')
  expect(await rig.stop()).toBe(0)
  expect(await rig.chain.balanceOf(address)).toBe(before)
})

test.skipIf(!hasMounts)(
  'a disk that is read-only at the start is refused in one line',
  async () => {
    const disk = mounted('ro')
    onTestFinished(() => unmount(disk))
    const { code, errors } = await runCommand([
      ...['serve', '--payment', 'open', '--source', 'http://127.0.0.1:9', '--outside', 'off'],
      ...['--data-dir', disk, '--port', '0', '--admin-port', '0'],
    ])
    expect(code).toBe(1)
    expect(errors).toMatch(/read-only/)
    expect(errors.trim().split('\n')).toHaveLength(1)
  },
)
