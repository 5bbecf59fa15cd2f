/**
 * After how long a browser has its first live figures, and what open pages of the console cost the buyers: paid calls one
 * after the other, in turns without and with 50 pages, one of which reads nothing; then the memory of the service with these
 * pages for ten minutes. Chain, venue and service are
 * separate processes, and every page has an address of its own. Needs `npm run build`.
 *
 * `tsx bench/console.ts` exits with 1 when a bar is missed; `--quick` judges the stream only.
 */
import assert from 'node:assert/strict'
import type { ClientRequest } from 'node:http'
import { get } from 'node:http'
import Table from 'cli-table3'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { ConsoleBrowser, chromiumPath } from '../test/support/console-browser.ts'
import { buy, newPayment } from '../test/support/killed-sales.ts'
import type { Rig } from '../test/support/service.ts'
import { startRig, untilSold } from '../test/support/service.ts'
import { quantile } from './cluster-line.ts'

const isQuick = process.argv.includes('--quick')
const size = isQuick
  ? { openings: 1, pages: 24, turns: 1, calls: 5, memorySeconds: 4, sampleSeconds: 2 }
  : { openings: 7, pages: 50, turns: 4, calls: 150, memorySeconds: 600, sampleSeconds: 20 }
const BARS = { firstFigureMs: 1_000, p99Times: 2, memoryMibPerMinute: 1 }
const SETTLING_SHARE = 1 / 3

/** The documents of the coin view; every fifth page is an operator's, with the largest document. */
const coinNames = 'pulse spread liquidations funding oi basis cex-dex volatility chart'
  .split(' ')
  .map((id) => `/${id}/BTC`)
const deskNames = [...coinNames, '/screener?top_n=50', '/overview']

const rig = await startRig({ flags: ['--quotes-per-address-per-minute', '100000'] })
try {
  await untilSold(rig.url, pulse.contract, 'BTC')
  const firstMs = await firstFigures(rig)
  progress(`first figures of ${firstMs.length} openings measured`)
  const idle: number[] = []
  const busy: number[] = []
  let received = 0
  await paidCalls(rig, 10)
  for (let turn = 0; turn < size.turns; turn += 1) {
    idle.push(...(await paidCalls(rig, size.calls)))
    const pages = openPages(rig)
    busy.push(...(await paidCalls(rig, size.calls)))
    received += pages.close()
    progress(`${turn + 1} of ${size.turns} turns measured`)
  }
  assert(received > 0, 'the pages received documents')

  const pages = openPages(rig)
  const mib: number[] = []
  for (let seconds = 0; seconds < size.memorySeconds; seconds += size.sampleSeconds) {
    await pause(size.sampleSeconds)
    mib.push(await residentMib(rig))
    progress(`${seconds + size.sampleSeconds} of ${size.memorySeconds} s of memory measured`)
  }
  pages.close()
  const settled = mib.slice(Math.floor(mib.length * SETTLING_SHARE))
  const perMinute = slope(settled) * (60 / size.sampleSeconds)
  const times = quantile(busy, 0.99) / quantile(idle, 0.99)

  const table = new Table({ head: ['line', 'measured', 'bar'], style: { head: [], border: [] } })
  const ms = (values: number[]) =>
    `${quantile(values, 0.5).toFixed(0)} / ${quantile(values, 0.99).toFixed(0)} ms of ${values.length}`
  table.push(
    [
      'Chromium, from opening a coin to its first live figure, longest',
      firstMs.length === 0
        ? 'no browser'
        : `${Math.max(...firstMs).toFixed(0)} ms of ${firstMs.length}`,
      `<= ${BARS.firstFigureMs} ms`,
    ],
    ['paid call without pages, p50 / p99', ms(idle), ''],
    [`with ${size.pages} pages, one of which reads nothing`, ms(busy), ''],
    ['p99 with pages against without', times.toFixed(2), `<= ${BARS.p99Times}`],
    ['received by pages during these calls', `${(received / 2 ** 20).toFixed(1)} MiB`, ''],
    [
      `resident memory over ${size.memorySeconds} s`,
      `${settled[0]?.toFixed(0)} to ${settled.at(-1)?.toFixed(0)} MiB, ${perMinute.toFixed(2)} MiB a minute`,
      `<= ${BARS.memoryMibPerMinute} a minute`,
    ],
  )
  console.log(table.toString())
  const isMissed =
    Math.max(0, ...firstMs) > BARS.firstFigureMs ||
    times > BARS.p99Times ||
    perMinute > BARS.memoryMibPerMinute
  process.exitCode = isMissed && !isQuick ? 1 : 0
} finally {
  await rig.close()
}

/** @returns the time of each opening by a browser that has no file of the console yet; none without a browser */
async function firstFigures({ adminUrl }: Rig): Promise<readonly number[]> {
  const tookMs: number[] = []
  for (let at = 0; at < size.openings && chromiumPath !== null; at += 1) {
    const browser = await ConsoleBrowser.start()
    try {
      const { page } = await browser.open(`${adminUrl}/#/coin/BTC`)
      await page.locator('[data-version]').first().waitFor()
      tookMs.push(await page.evaluate<number>('performance.now()'))
    } finally {
      await browser.close()
    }
  }
  return tookMs
}

/** @returns the time of each call, from request to end of answer, milliseconds */
async function paidCalls(service: Rig, calls: number): Promise<number[]> {
  const payments: string[] = []
  for (let at = 0; at < calls; at += 1) payments.push(await newPayment(service))
  const tookMs: number[] = []
  for (const payment of payments) {
    const before = performance.now()
    const answer = await buy(service, payment)
    const body = await answer.text()
    tookMs.push(performance.now() - before)
    assert.equal(answer.status, 200, body)
  }
  return tookMs
}

/** @returns `close` ends the pages and returns how many bytes they received */
function openPages({ url, adminUrl }: Rig): { close(): number } {
  let received = 0
  const statuses = new Set<number | undefined>()
  const requests: ClientRequest[] = []
  for (let at = 0; at < size.pages; at += 1) {
    const isDesk = at % 5 === 0
    const query = new URLSearchParams(
      (isDesk ? deskNames : coinNames).map((name): [string, string] => ['document', name]),
    )
    const address = `${isDesk ? adminUrl : url}/console/live?${query}`
    // One address may hold 16 streams.
    const headers = { 'x-forwarded-for': `10.2.0.${at}` }
    const request = get(address, { headers }, (response) => {
      statuses.add(response.statusCode)
      // The first page stops reading.
      if (at > 0) response.on('data', (part: Buffer) => (received += part.length))
    })
    request.on('error', () => undefined)
    requests.push(request)
  }
  return {
    close: () => {
      for (const request of requests) request.destroy()
      // An error that is thrown in a callback would leave the processes of the rig running.
      assert.deepEqual([...statuses], [200], 'every page is served')
      return received
    },
  }
}

async function residentMib({ adminUrl }: Rig): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20
}

/** Least-squares slope by index. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  let above = 0
  let below = 0
  for (const [at, value] of values.entries()) {
    above += (at - middle) * (value - mean)
    below += (at - middle) ** 2
  }
  return below === 0 ? 0 : above / below
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(seconds * 1_000, resolve))
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}
