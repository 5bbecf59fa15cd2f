import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DoctorOptions } from '../src/config/doctor.ts'
import type { DoctorFinding } from '../src/domain/desk-reports.ts'
import { sourceIds } from '../src/domain/external.ts'
import { packDocument } from '../src/domain/packed-document.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { doctor } from '../src/roles/doctor.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { SimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { CheckpointDb } from '../src/store/checkpoint-db.ts'
import { lockDataDir } from '../src/store/data-dir.ts'
import { DocumentStore } from '../src/store/document-store.ts'
import { HistoryStore } from '../src/store/history-store.ts'
import { barBatch, barsFrom, START_MS } from '../src/store/testing/history-rows.ts'
import { runCommand } from './support/service.ts'

const PLAIN = { columns: null, hasColor: false }
/** A port that is free now may soon be used by another test. */
const ANY_PORT = 0
const VENUE_CHECKS = ['venue, requests', 'venue, websocket', 'clock']

/** Without tests of a full disk and of a read-only folder, because the tests may run as root. */
describe('perpscope doctor', () => {
  let venue: SimulatedVenue
  let folder: string
  let dataDir: string
  const servers: Server[] = []

  beforeEach(async () => {
    // One venue per test, because it allows 30 new connections a minute.
    venue = await startVenue()
    folder = mkdtempSync(join(tmpdir(), 'perpscope-doctor-'))
    dataDir = join(folder, 'data')
    fill(dataDir)
  })

  afterEach(async () => {
    for (const server of servers.splice(0)) server.close()
    await venue.close()
    rmSync(folder, { recursive: true })
  })

  test('reports no fault for a sound setup', async () => {
    const { isWell, findings } = await examined()
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([])
    expect(isWell).toBe(true)
    expect(findings.map(({ check }) => check)).toEqual([
      ...['configuration', 'data directory', 'service', 'ports'],
      ...['checkpoint', 'history', 'documents'],
      ...['venue, requests', 'venue, websocket', 'clock', 'weight'],
    ])
    expect(found(findings, 'checkpoint')).toMatch(
      /^schema 1, .* MB, 1 coins, whole, file modified \d+ s ago$/,
    )
    expect(found(findings, 'history')).toMatch(
      /^schema 4, .* MB, 1 coins, 0 measures, 100 rows from 2026-01-01T00:00:00\.000Z to 2026-01-05T03:00:00\.000Z, whole$/,
    )
    expect(found(findings, 'documents')).toMatch(
      /^schema 1, .* MB, 1 documents, the newest rendered \d+ (s|min|h) ago$/,
    )
    expect(found(findings, 'weight')).toMatch(/1000 of the venue's 1200 .* 4 coins takes 1 min/)
  })

  test('accepts a data directory that does not exist yet', async () => {
    const absent = join(folder, 'not', 'yet')
    const { isWell, findings } = await examined({ dataDir: absent })
    expect(isWell).toBe(true)
    expect(found(findings, 'data directory')).toContain('serve creates it')
    expect(found(findings, 'history')).toBe('none yet; serve creates one')
    expect(readdirSync(folder), 'and makes nothing').toEqual(['data'])
  })

  test('rejects a file as data directory', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const { isWell, findings } = await examined({ dataDir: file })
    expect(isWell).toBe(false)
    expect(statusOf(findings, 'data directory')).toBe('fail')
    expect(found(findings, 'data directory')).toBe(`${file} is not a folder`)
  })

  test('finds a venue that does not answer, and continues with the other checks', async () => {
    const { isWell, findings } = await examined({ source: 'http://127.0.0.1:1' })
    expect(isWell).toBe(false)
    for (const check of VENUE_CHECKS) expect(statusOf(findings, check), check).toBe('fail')
    expect(found(findings, 'venue, websocket')).toContain('ECONNREFUSED')
    for (const check of ['data directory', 'checkpoint', 'history'])
      expect(statusOf(findings, check), check).toBe('ok')
  })

  test('writes the whole report if a check is impossible', async () => {
    const { isWell, findings } = await examined({ source: 'nonsense' })
    expect(isWell).toBe(false)
    expect(found(findings, 'data directory')).toMatch(/^cannot be checked: Invalid URL/)
    expect(statusOf(findings, 'history')).toBe('ok')
    for (const check of VENUE_CHECKS) expect(statusOf(findings, check), check).toBe('fail')
  })

  test('finds an address that is not the venue', async () => {
    const { findings } = await examined({ source: await answering('{"hello":"world"}') })
    expect(found(findings, 'venue, requests')).toMatch(/answers 200 without a list of perpetuals$/)
    expect(statusOf(findings, 'venue, requests')).toBe('fail')
  })

  test('finds a venue that refuses because of too many requests', async () => {
    const refusing = await startVenue()
    try {
      refusing.inject({ kind: 'rest-429', durationMs: 60_000 })
      const { findings } = await examined({ source: sourceOf(refusing) })
      expect(found(findings, 'venue, requests')).toMatch(/rejects requests \(429\)$/)
      expect(statusOf(findings, 'venue, websocket'), 'which is another way').toBe('ok')
    } finally {
      await refusing.close()
    }
  })

  test.each([
    // Its data are 0.2 to 0.9 s old.
    [-500, 'ok', /^\d+ ms ahead of the venue's$/],
    [4_000, 'warn', /^\d{4} ms behind the venue's$/],
    [-60_000, 'fail', /^[56]\d{4} ms ahead of the venue's; the feed is degraded/],
  ])(
    'judges a clock that the venue is off by %i ms from as %s',
    async (offsetMs, status, words) => {
      const skewed = await startVenue()
      try {
        skewed.inject({ kind: 'clock-skew', offsetMs, durationMs: 60_000 })
        const { findings } = await examined({ source: sourceOf(skewed) })
        expect(statusOf(findings, 'clock')).toBe(status)
        expect(found(findings, 'clock')).toMatch(words)
      } finally {
        await skewed.close()
      }
    },
  )

  test('finds an invalid history file, states the consequence, and does not change it', async () => {
    const path = join(dataDir, 'history.db')
    const rubbish = Buffer.from('this is no database, and it is longer than a header'.repeat(100))
    writeFileSync(path, rubbish)
    const { isWell, findings } = await examined()
    expect(isWell).toBe(false)
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'history',
        status: 'fail',
        found: '0.0 MB, cannot be used: file is not a database',
        advice: expect.stringContaining('serve will set it aside'),
      }),
    )
    expect(readFileSync(path).equals(rubbish)).toBe(true)
    expect(statusOf(findings, 'checkpoint')).toBe('ok')
  })

  test('finds damaged blocks of history', async () => {
    const raw = new Database(join(dataDir, 'history.db'))
    raw.prepare('UPDATE block_01 SET crc = crc + 1 WHERE key % 2 = 0').run()
    raw.close()
    const { isWell, findings } = await examined()
    expect(isWell, 'it runs on').toBe(true)
    expect(statusOf(findings, 'history')).toBe('warn')
    expect(found(findings, 'history')).toMatch(/; 1 blocks are damaged and are ignored$/)
  })

  test('finds damaged documents and an invalid file of documents', async () => {
    const path = join(dataDir, 'documents.db')
    const raw = new Database(path)
    raw.prepare('UPDATE document SET crc = crc + 1').run()
    raw.close()
    const { findings } = await examined()
    expect(found(findings, 'documents')).toMatch(/; 1 are damaged and are ignored$/)
    writeFileSync(path, 'this is no database, and it is longer than a header'.repeat(100))
    const after = await examined()
    expect(after.isWell, 'it runs without').toBe(true)
    expect(statusOf(after.findings, 'documents')).toBe('warn')
  })

  test('finds a checkpoint of another version', async () => {
    const raw = new Database(join(dataDir, 'engine.db'))
    raw.pragma('user_version = 99')
    raw.close()
    const { findings } = await examined()
    expect(found(findings, 'checkpoint')).toMatch(/cannot be used: schema version 99$/)
  })

  test('warns about files that were set aside', async () => {
    writeFileSync(join(dataDir, 'history.db.corrupt-1767225600000'), 'x'.repeat(2e6))
    const { isWell, findings } = await examined()
    expect(isWell).toBe(true)
    expect(found(findings, 'files set aside')).toBe(
      'history.db.corrupt-1767225600000: 2.0 MB, damaged or of another version',
    )
  })

  test('reads the files of a running service without disturbing it', async () => {
    const lock = lockDataDir(dataDir)
    const { db } = CheckpointDb.open(join(dataDir, 'engine.db'), START_MS)
    const store = historyAt(dataDir)
    const { isWell, findings } = await examined({
      adminPort: await serving({ ready: true, reasons: [] }),
    })
    expect(isWell).toBe(true)
    for (const check of ['checkpoint', 'history']) expect(found(findings, check)).toMatch(/whole/)
    expect(found(findings, 'service')).toMatch(/^running, ready/)
    store.add(barBatch('ETH', barsFrom(START_MS, 1)))
    for (const _ of store.write(START_MS));
    expect(store.health.state).toBe('ok')
    store.close(START_MS)
    db.close()
    lock.close()
  })

  test('does not take a service with another data directory for its own', async () => {
    const store = { state: 'degraded', reason: 'SQLITE_FULL', since_iso: '', dropped_rows: 7 }
    const adminPort = await serving({ ready: true, reasons: [], store })
    const { isWell, findings } = await examined({ adminPort })
    expect(isWell).toBe(false)
    expect(found(findings, 'service')).toMatch(/^not running; .* with another data directory$/)
    expect(found(findings, 'ports')).toContain('held by a perpscope with another data directory')
    expect(findings.map(({ check }) => check)).not.toContain('history at work')
  })

  test('states why a running service is not ready', async () => {
    const adminPort = await serving({ ready: false, reasons: ['coin_ready'] })
    const lock = lockDataDir(dataDir)
    const { isWell, findings } = await examined({ adminPort })
    lock.close()
    expect(isWell).toBe(true)
    expect(statusOf(findings, 'service')).toBe('warn')
    expect(found(findings, 'service')).toContain('not ready: coin_ready')
  })

  test.each<readonly [string, object, string, RegExp]>([
    ['is well', {}, 'ok', /^written to disk; 0 rows lost, 0 blocks/],
    [
      'stopped',
      { state: 'degraded', reason: 'SQLITE_FULL: disk is full', dropped_rows: 7 },
      'warn',
      /^nothing is written to disk since 2026-01-01T00:00:00\.000Z: SQLITE_FULL: disk is full; 7 rows lost/,
    ],
    ['is damaged', { damaged_blocks: 3 }, 'warn', /0 rows lost, 3 blocks damaged/],
    ['was begun anew', { set_aside_files: 1 }, 'warn', /0 blocks damaged, 1 files set aside/],
  ])('reports a service whose history %s', async (_what, other, status, words) => {
    const store = {
      ...{ state: 'ok', reason: null, since_iso: '2026-01-01T00:00:00.000Z' },
      ...{ dropped_rows: 0, damaged_blocks: 0, set_aside_files: 0, ...other },
    }
    const adminPort = await serving({ ready: true, reasons: [], store })
    const lock = lockDataDir(dataDir)
    const { isWell, findings } = await examined({ adminPort })
    lock.close()
    expect(isWell).toBe(true)
    expect(statusOf(findings, 'history at work')).toBe(status)
    expect(found(findings, 'history at work')).toMatch(words)
  })

  test.each<readonly [string, object, string, RegExp]>([
    ['goes on', { state: 'on', reason: null }, 'ok', /^recording since 2026-01-01T00:00:00\.000Z$/],
    [
      'ended',
      { state: 'stopped', reason: 'it has reached 30 bytes' },
      'warn',
      /^stopped at 2026-01-01T00:00:00\.000Z: it has reached 30 bytes; the service continues without it$/,
    ],
  ])('reports a service whose recording %s', async (_what, state, status, words) => {
    const recording = { ...state, since_iso: '2026-01-01T00:00:00.000Z' }
    const lock = lockDataDir(dataDir)
    const { isWell, findings } = await examined({
      adminPort: await serving({ ready: true, reasons: [], store: null, recording }),
    })
    lock.close()
    expect(isWell).toBe(true)
    expect(statusOf(findings, 'recording at work')).toBe(status)
    expect(found(findings, 'recording at work')).toMatch(words)
  })

  test('warns of a process that holds the data directory and does not answer', async () => {
    const lock = lockDataDir(dataDir)
    const { findings } = await examined()
    expect(statusOf(findings, 'service')).toBe('warn')
    expect(found(findings, 'service')).toContain(`nothing answers on admin port ${ANY_PORT}`)
    lock.close()
  })

  test('finds a port that another program holds, which would keep serve from starting', async () => {
    const { isWell, findings } = await examined({ port: await serving({ hello: 'world' }) })
    expect(isWell).toBe(false)
    expect(statusOf(findings, 'ports')).toBe('fail')
    expect(found(findings, 'ports')).toContain('public: listen EADDRINUSE')
  })

  test('finds an invalid recording, with which serve does not start', async () => {
    const diary = join(folder, 'diary.txt')
    writeFileSync(diary, 'Dear diary')
    const { isWell, findings } = await examined({ record: diary })
    expect(isWell).toBe(false)
    expect(found(findings, 'recording')).toBe(
      `cannot be used: ${diary} is not a recording of perpscope`,
    )
  })

  test('names every problem that would keep serve from starting', async () => {
    const { isWell, findings } = await examined({ payment: 'x402' })
    expect(isWell).toBe(false)
    expect(found(findings, 'configuration')).toContain('PERPSCOPE_PAY_TO')
    expect(found(findings, 'configuration')).toContain('no facilitator is configured')
  })

  test('checks the node as serve does before it sells', async () => {
    const chain = await startEvmChain({ clock: systemClock })
    try {
      const selling = (changes: Partial<DoctorOptions> = {}) =>
        examined({
          payment: 'x402',
          payTo: chain.accounts.merchant.address,
          rpcUrl: chain.rpcUrl,
          facilitatorKey: chain.accounts.facilitator.privateKey,
          ...changes,
        })
      const { findings } = await selling()
      expect(statusOf(findings, 'ways to pay')).toBe('ok')
      expect(found(findings, 'ways to pay')).toBe('exact on eip155:8453')
      expect(found(findings, 'ledger')).toBe('none yet; serve creates one')
      const poor = await selling({ facilitatorKey: `0x${'7'.repeat(64)}` })
      expect(poor.isWell).toBe(false)
      expect(found(poor.findings, 'ways to pay')).toContain(
        'has no ether on base. Send ether to it',
      )
      const other = await selling({ network: 'base-sepolia' })
      expect(found(other.findings, 'ways to pay')).toContain('serves chain 8453')
      const absent = await selling({ rpcUrl: 'http://127.0.0.1:1' })
      expect(statusOf(absent.findings, 'ways to pay'), 'serve would start').toBe('warn')
      expect(found(absent.findings, 'ways to pay')).toContain('does not answer')
      const erring = createServer((_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the plan has expired"}}'),
      )
      await new Promise<void>((resolve) => erring.listen(0, '127.0.0.1', resolve))
      const { port } = erring.address() as AddressInfo
      const refused = await selling({ rpcUrl: `http://127.0.0.1:${port}/key` })
      erring.close()
      expect(found(refused.findings, 'ways to pay')).toContain('the plan has expired')
      expect(found(refused.findings, 'ways to pay')).not.toContain('127.0.0.1')
    } finally {
      await chain.close()
    }
  })

  test('finds a ledger that keeps serve from starting', async () => {
    const path = join(dataDir, 'ledger.db')
    const selling = { payment: 'x402', payTo: `0x${'a'.repeat(40)}` } as const
    const ledger = new SqliteLedger(path)
    const whole = await examined(selling)
    expect(found(whole.findings, 'ledger'), 'while a service has it').toMatch(
      /, 0 payments, whole$/,
    )
    await ledger.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4_096))
    const { isWell, findings } = await examined(selling)
    expect(isWell).toBe(false)
    expect(statusOf(findings, 'ledger')).toBe('fail')
    expect(found(findings, 'ledger')).toMatch(/damaged|malformed/)
  })

  test('shows no key, and no URL that may contain one', async () => {
    const key = `0x${'5'.repeat(64)}` as const
    const { findings } = await examined({
      payment: 'x402',
      payTo: `0x${'a'.repeat(40)}`,
      rpcUrl: 'http://127.0.0.1:1/v2/providerkey',
      facilitatorUrl: ['http://127.0.0.1:2/?k=querykey'],
      facilitatorAuth: ['Bearer authkey'],
      facilitatorKey: key,
    })
    const text = JSON.stringify(findings)
    expect(text).toContain('node http://127.0.0.1:1, key set')
    for (const secret of ['providerkey', 'querykey', 'authkey', key])
      expect(text).not.toContain(secret)
  })

  test('lists every source with its state, age and use, and the effect of its loss', async () => {
    const startMs = systemClock.nowMs()
    const market = seededMarket({ seed: 1, startMs })
    const scenario = [
      { kind: 'dead', source: 'okx', fromMs: startMs, untilMs: Number.POSITIVE_INFINITY },
    ] as const
    const external = new SimulatedSources(
      new ReferencePrices({ market, seed: 1, scenario }),
      systemClock,
    )
    const whole = await startSimulatedVenue({ market, external, clock: systemClock, port: 0 })
    try {
      const examinedSources = async () => {
        const report = await examined({
          source: sourceOf(whole),
          outside: 'on',
          sourceUrl: { kraken: [] },
        })
        const sources = report.findings.filter(({ check }) => check.startsWith('source '))
        const ill = sources.filter(({ status }) => status !== 'ok').map(({ check }) => check)
        return { ...report, sources, ill }
      }
      let { isWell, findings, sources, ill } = await examinedSources()
      // On a busy machine some answer later than within the eight seconds of a run.
      for (let run = 2; run <= 5 && ill.length > 3; run += 1)
        ({ isWell, findings, sources, ill } = await examinedSources())
      expect(sources.map(({ check }) => check.slice('source '.length))).toEqual(sourceIds)
      expect(ill, 'no key, not configured, dead').toEqual([
        'source pyth-hermes',
        'source kraken',
        'source okx',
      ])
      expect(found(findings, 'source pyth-hermes')).toContain('--pyth-key')
      expect(found(findings, 'source kraken')).toContain('turned off; one leg of /cex-dex')
      expect(found(findings, 'source okx')).toMatch(/^down: .*; one leg of \/cex-dex/)
      expect(found(findings, 'source bybit')).toMatch(/^\d+ values, newest \d+\.\d s old; /)
      expect(isWell, 'the service goes on without any of them').toBe(true)
    } finally {
      await whole.close()
    }
  })

  test('explains the risks of a shared payee and of a missing outcome node', async () => {
    const facilitator = createServer((_request, response) => {
      const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:8453' }]
      response.end(JSON.stringify({ kinds, extensions: [], signers: {} }))
    })
    servers.push(facilitator)
    await new Promise<void>((resolve) => facilitator.listen(0, '127.0.0.1', resolve))
    const { port } = facilitator.address() as AddressInfo
    const paid: Partial<DoctorOptions> = {
      payment: 'x402',
      payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      facilitatorUrl: [`http://127.0.0.1:${port}`],
    }
    const off = await examined(paid)
    expect(found(off.findings, 'payee')).toMatch(/^0x7099.*any other service with the same payee/)
    expect(statusOf(off.findings, 'ways to pay')).toBe('warn')
    expect(found(off.findings, 'ways to pay')).toContain('has paid and never gets the answer')
    const dead = await examined({ ...paid, rpcUrl: 'http://127.0.0.1:1/f00dfeed' })
    expect(statusOf(dead.findings, 'ways to pay')).toBe('warn')
    expect(found(dead.findings, 'ways to pay')).toContain('has paid and waits for the answer')
    expect(JSON.stringify(dead.findings)).not.toContain('f00dfeed')
    const mistyped = await examined({ ...paid, payTo: `0x${'0'.repeat(36)}dEaD` })
    expect(mistyped.isWell).toBe(false)
    expect(found(mistyped.findings, 'configuration')).toContain('is a burn address')
  })

  test('warns of a plan that the venue would refuse', async () => {
    const { findings } = await examined({ weightPerMinute: 5_000 })
    expect(statusOf(findings, 'weight')).toBe('warn')
  })

  test('writes one line per check, a table on a terminal, and colours only on request', async () => {
    const esc = String.fromCharCode(27)
    const plain = await written({}, PLAIN)
    expect(plain.split('\n').map((line) => line.split('\t')[0])).toEqual([
      ...Array.from({ length: 11 }, () => 'ok'),
      'all checks passed',
      '',
    ])
    expect(plain).not.toContain(esc)
    const table = await written({}, { columns: 100, hasColor: false })
    expect(table).toContain('┌')
    expect(table).not.toContain(esc)
    expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
    expect(await written({}, { columns: 100, hasColor: true })).toContain(`${esc}[32mok`)
  })

  test('exits with 0 if nothing fails, else with 1, and prints one JSON report', async () => {
    const args = (source: string) => [
      ...['doctor', '--json', '--payment', 'open'],
      ...['--port', String(ANY_PORT), '--admin-port', String(ANY_PORT)],
      ...['--data-dir', dataDir, '--source', source, '--outside', 'off'],
    ]
    const well = await runCommand(args(sourceOf(venue)))
    expect(well.errors).toBe('')
    expect(JSON.parse(well.output)).toMatchObject({ ok: true, checks: expect.any(Array) })
    expect(well.code).toBe(0)
    const ill = await runCommand(args('http://127.0.0.1:1'))
    expect(JSON.parse(ill.output)).toMatchObject({ ok: false })
    expect(ill.code).toBe(1)
  })

  async function examined(changes: Partial<DoctorOptions> = {}) {
    const text = await written({ ...changes, json: true }, PLAIN)
    const report = JSON.parse(text) as { ok: boolean; checks: DoctorFinding[] }
    return { isWell: report.ok, findings: report.checks }
  }

  async function written(
    changes: Partial<DoctorOptions>,
    terminal: Parameters<typeof doctor>[1],
  ): Promise<string> {
    let text = ''
    const options: DoctorOptions = {
      role: 'all',
      anchorProofs: 'off',
      source: sourceOf(venue),
      host: '127.0.0.1',
      port: ANY_PORT,
      adminHost: '127.0.0.1',
      adminPort: ANY_PORT,
      sampleCoin: 'BTC',
      dataDir,
      answersMinutes: 10,
      ledgerDays: 0,
      historyDays: 0,
      payment: 'open',
      publicUrl: 'https://perpscope.example',
      network: 'base',
      outcomeNode: 'off',
      solanaNetwork: 'mainnet',
      contractWallets: 'on',
      contractGasPerHour: 3_000_000n,
      solUsdMax: 500,
      paymentChannels: 'off',
      finality: [],
      broadcastPayerMax: 0n,
      broadcastTotalMax: 0n,
      salesPerWalletPerMinute: 20,
      quotesPerAddressPerMinute: 60,
      weightPerMinute: 1_000,
      subscriptionsMax: 1_000,
      dexes: [],
      outside: 'off',
      sourceUrl: {},
      accessLog: 'off',
      logLevel: 'silent',
      logFormat: 'json',
      recordMaxBytes: 1,
      ...changes,
    }
    const isWell = await doctor(options, terminal, (part) => {
      text += part
    })
    if (options.json) expect(JSON.parse(text)).toMatchObject({ ok: isWell })
    return text
  }

  /** A server that sends the same reply to all requests. @returns its URL. */
  async function answering(body: string): Promise<string> {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(body)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async function serving(readiness: object): Promise<number> {
    return Number(new URL(await answering(JSON.stringify(readiness))).port)
  }
})

function startVenue(): Promise<SimulatedVenue> {
  return startSimulatedVenue({
    market: seededMarket({ seed: 7, startMs: systemClock.nowMs(), coins: 5 }),
    clock: systemClock,
    port: 0,
  })
}

function sourceOf({ httpUrl }: SimulatedVenue): string {
  return httpUrl.replace(/\/info$/, '')
}

function fill(dataDir: string): void {
  mkdirSync(dataDir)
  const { db } = CheckpointDb.open(join(dataDir, 'engine.db'), START_MS)
  const coins = new Map([['BTC', Float64Array.of(1, 2, 3)]])
  for (const _ of db.save({ version: 1, listings: [], coins }));
  db.close()
  const store = historyAt(dataDir)
  store.add(barBatch('BTC', barsFrom(START_MS, 100)))
  store.close(START_MS)
  const { db: documents } = DocumentStore.open(
    { path: join(dataDir, 'documents.db'), maker: '0.0.0', isClockNew: false },
    START_MS,
  )
  documents.add([
    packDocument({
      ...{ key: 'pulse/BTC', version: 1, renderedAtMs: START_MS },
      ...{ bytes: new Uint8Array(8), parts: [], views: {} },
    }),
  ])
  documents.close()
}

function historyAt(dataDir: string): HistoryStore {
  const path = join(dataDir, 'history.db')
  return new HistoryStore({ path, onNotice: () => undefined }, START_MS)
}

function statusOf(findings: readonly DoctorFinding[], name: string): string | undefined {
  return findings.find(({ check }) => check === name)?.status
}

function found(findings: readonly DoctorFinding[], name: string): string | undefined {
  return findings.find(({ check }) => check === name)?.found
}
