import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand, runDemo } from './support/service.ts'

const TABLE = join(import.meta.dirname, '../src/compute/indicators/fixtures/flat-stretch-table.csv')
const SHARED = join(import.meta.dirname, '../../shared/data/hl-candles-2025-07/coins/BTC/1h.csv.gz')

describe('perpscope indicators', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-indicators-'))
  })

  afterAll(() => rm(folder, { recursive: true }))

  const candles = async () => {
    const lines = (await readFile(TABLE, 'utf8')).trim().split('\n')
    return lines.map((line) => line.split(',').slice(0, 6).join(',')).join('\n')
  }

  test('prints one object a closed bar, null while warming up, plain and compressed alike', async () => {
    const [plain, zipped] = [join(folder, 'a.csv'), join(folder, 'a.csv.gz')]
    const text = await candles()
    await writeFile(plain, text)
    await writeFile(zipped, gzipSync(text))
    const { code, output } = await runCommand(['indicators', plain])
    expect(code).toBe(0)
    const rows = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
    expect(rows).toHaveLength(text.split('\n').length - 1)
    expect(rows[0]?.indicators).toMatchObject({
      rsi_14: null,
      ema_200: null,
      bollinger: { upper: null },
    })
    expect(rows.at(-1)?.indicators.ema_200).toBeTypeOf('number')
    expect((await runCommand(['indicators', zipped])).output).toBe(output)
  })

  test.each([
    ['a missing file', null],
    ['another header', 'time,open,high,low,close,volume\n1,1,1,1,1,1'],
    ['a row that is not numbers', 't,o,h,l,c,v\n1,1,1,1,x,1'],
    ['bars out of order', 't,o,h,l,c,v\n2,1,1,1,1,1\n1,1,1,1,1,1'],
    ['a high below the low', 't,o,h,l,c,v\n1,1,1,2,1,1'],
  ])('says what is wrong with %s, and fails', async (_what, text) => {
    const path = join(folder, 'bad.csv')
    await rm(path, { force: true })
    if (text !== null) await writeFile(path, text)
    const { code, errors } = await runCommand(['indicators', path])
    expect(code).toBe(1)
    expect(errors).toContain('bad.csv')
  })

  test.skipIf(!existsSync(SHARED))('reads real candles (needs ../shared/data)', async () => {
    const { code, output } = await runCommand(['indicators', SHARED])
    expect(code).toBe(0)
    const last = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Row
    // TA-Lib over the last 800 bars; by then the longer history makes no difference to RSI.
    expect(last.indicators.rsi_14).toBeCloseTo(56.08664830094544, 6)
  })
})

describe('perpscope serve', () => {
  test('does not start without a payee, and names every missing setting', async () => {
    const { code, errors } = await runCommand(['serve'])
    expect(code).toBe(78)
    expect(errors).toContain('PERPSCOPE_PAY_TO')
    expect(errors).toContain('--facilitator-url')
  })

  test.each([
    ['--port', '99999'],
    ['--pay-to', '0x123'],
    ['--payment', 'later'],
    ['--facilitator-url', 'ftp://x'],
  ])('refuses %s %s', async (flag, value) => {
    const { code, errors } = await runCommand(['serve', flag, value])
    expect(code).not.toBe(0)
    expect(errors).toContain(flag)
  })
})

describe('perpscope maintenance', () => {
  test('says that nothing answers, where nothing runs', async () => {
    const { code, errors } = await runCommand(['maintenance', 'on', '--admin-port', '1'])
    expect(code).toBe(1)
    expect(errors).toContain('admin port 1')
  })
})

describe('npm run demo', () => {
  test('buys every analysis, prints one report and nothing else, and ends', async () => {
    const { code, output } = await runDemo(['--once', '--json'])
    expect(code).toBe(0)
    expect(output.trim().split('\n')).toHaveLength(1)
    const report = JSON.parse(output) as Record<string, unknown>
    expect(report).toEqual({
      ok: true,
      purchases: ['pulse', 'spread'].map((analysis) => ({
        analysis,
        path: `/${analysis}/BTC`,
        network: 'eip155:8453',
        price_usdc: expect.any(Number),
        status: 200,
        ms: expect.any(Number),
        bytes: expect.any(Number),
      })),
      paid_usdc: 0.04,
      received_usdc: 0.04,
      elapsed_ms: expect.any(Number),
    })
  })
})

type Row = { readonly indicators: { readonly rsi_14: number; readonly ema_200: number | null } }
