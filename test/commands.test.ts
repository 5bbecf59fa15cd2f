import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { OperatingError } from '../src/domain/errors.ts'
import { program } from '../src/program.ts'
import { printIndicators } from '../src/roles/indicators.ts'
import { maintenanceCommand } from '../src/roles/maintenance.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { hasPostgres, startPostgres } from './support/postgres.ts'
import { runCommand, runDemo } from './support/service.ts'

const TABLE = join(import.meta.dirname, '../src/compute/indicators/fixtures/flat-stretch-table.csv')
const SHARED = join(import.meta.dirname, '../../shared/data/hl-candles-2025-07/coins/BTC/1h.csv.gz')

/** `perpscope indicators` in this process. @throws what ends the command */
function printed(path: string, gaps: 'join' | 'refuse' = 'join') {
  let [output, errors] = ['', '']
  const write = (text: string) => {
    output += text
  }
  const warn = (text: string) => {
    errors += text
  }
  printIndicators(path, { gaps }, { write, warn }, systemClock.nowMs())
  return { output, errors }
}

function refusalOf(path: string): unknown {
  try {
    return printed(path)
  } catch (cause) {
    return cause
  }
}

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

  test('prints one object per closed bar, null during warm-up, from plain and compressed files', async () => {
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
    expect(printed(zipped).output).toBe(output)
  })

  test('says what is wrong with a missing file, and fails', async () => {
    const { code, errors } = await runCommand(['indicators', join(folder, 'absent.csv')])
    expect(code).toBe(1)
    expect(errors).toContain('absent.csv')
  })

  test('control characters of a file reach no terminal', async () => {
    const path = join(folder, 'controls.json')
    await writeFile(path, '[\u009b2J\u202e]')
    const { code, errors } = await runCommand(['indicators', path])
    expect(code).toBe(1)
    expect(errors).toContain('controls.json: not valid JSON')
    expect(errors).not.toMatch(/[^\P{C}\n]/u)
  })

  test.each([
    ['a time of no unit', 'time,open,high,low,close,volume\n1,1,1,1,1,1'],
    ['a row that is not numbers', 't,o,h,l,c,v\n1,1,1,1,x,1'],
    ['bars out of order', 't,o,h,l,c,v\n1,1,1,1,1,1\n3,1,1,1,1,1\n2,1,1,1,1,1'],
    ['no candle', 't,o,h,l,c,v\n'],
    ['no candle in JSON', '[]'],
    ['the forming bar alone', 't,o,h,l,c,v\n2082758400,1,1,1,1,1'],
    ['a high below the low', 't,o,h,l,c,v\n1,1,1,2,1,1'],
    ['an open above the high', 't,o,h,l,c,v\n1,9,2,1,1,1'],
  ])('says what is wrong with %s', async (_what, text) => {
    const path = join(folder, 'bad.csv')
    await writeFile(path, text)
    const refusal = refusalOf(path)
    expect(refusal, 'the command ends with 1').toBeInstanceOf(OperatingError)
    expect(refusal).toHaveProperty('message', expect.stringContaining('bad.csv'))
  })

  test('reports missing bars on standard error, and refuses them on request', async () => {
    const lines = (await candles()).split('\n')
    const path = join(folder, 'gaps.csv')
    await writeFile(path, [...lines.slice(0, 60), ...lines.slice(63)].join('\n'))
    const joined = await runCommand(['indicators', path])
    expect(joined.code).toBe(0)
    expect(joined.output.trim().split('\n')).toHaveLength(lines.length - 1 - 3)
    expect(joined.errors).toContain('bars are not consecutive (missing: 3, places: 1)')
    expect(printed(path, 'join').output).toBe(joined.output)
    const refused = await runCommand(['indicators', path, '--gaps', 'refuse'])
    expect(refused).toMatchObject({ code: 1, output: '' })
    expect(refused.errors).toContain('missing: 3')
    await writeFile(path, lines.join('\n'))
    expect(printed(path, 'refuse').errors).toBe('')
  })

  test('refuses bars in the future, but for the forming one', async () => {
    const path = join(folder, 'future.csv')
    const nowSeconds = Date.UTC(2_026, 0) / 1_000
    vi.spyOn(systemClock, 'nowMs').mockReturnValue(1_000 * nowSeconds)
    const bars = (untilSeconds: number) =>
      Array.from({ length: 30 }, (_, at) => `${untilSeconds - 60 * (29 - at)},1,1,1,1,1`)
    const write = (untilSeconds: number) =>
      writeFile(path, ['t,o,h,l,c,v', ...bars(untilSeconds)].join('\n'))
    await write(nowSeconds - 30)
    const forming = printed(path)
    expect(forming.output.trim().split('\n')).toHaveLength(29)
    expect(forming.errors).toContain('the last bar is still forming')
    await write(Date.UTC(2_035, 0) / 1_000)
    expect(refusalOf(path)).toHaveProperty(
      'message',
      expect.stringContaining('30 bars are in the future: check the unit of the time column'),
    )
  })

  test.skipIf(!existsSync(SHARED))('reads real candles (needs ../shared/data)', async () => {
    const { output } = printed(SHARED)
    const last = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Row
    // TA-Lib over the last 800 bars; by then the longer history makes no difference to RSI.
    expect(last.indicators.rsi_14).toBeCloseTo(56.08664830094544, 6)
  })
})

class Exit extends Error {
  readonly code: unknown

  constructor(code: unknown) {
    super(`exit ${code}`)
    this.code = code
  }
}

/** What a command line that runs no command leads to, in this process. */
async function parsed(args: readonly string[]) {
  let [output, errors] = ['', '']
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    errors += text
    return true
  })
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(code)
  })
  const cause: unknown = await program.parseAsync(args, { from: 'user' }).catch((thrown) => thrown)
  vi.restoreAllMocks()
  if (!(cause instanceof Exit)) throw new Error(`${args.join(' ')} was accepted`, { cause })
  return { code: cause.code, output, errors }
}

describe('a command line that is not understood', () => {
  test.each([
    [[], 'Usage: perpscope'],
    [['serve', '--prot', '1'], "unknown option '--prot'"],
  ])('%j ends the process with 2', async (args, says) => {
    const { code, output, errors } = await runCommand(args)
    expect({ code, output }).toEqual({ code: 2, output: '' })
    expect(errors).toContain(says)
  })

  test.each([
    [['sreve'], "unknown command 'sreve'"],
    [['serve', '--port'], "option '--port <port>' argument missing"],
    [['indicators'], "missing required argument 'file'"],
    [['indicators', 'a.csv', 'b.csv'], 'too many arguments'],
    [['record'], "required option '--out <file>' not specified"],
    [['maintenance', 'maybe'], "command-argument value 'maybe' is invalid"],
    [['demo', '--onec'], "unknown option '--onec'"],
    [['ledger', '--eth-usd', '0'], 'not above zero'],
    [['probe', 'api.example.com'], "command-argument value 'api.example.com' is invalid"],
  ])('%j ends with 2', async (args, says) => {
    const { code, output, errors } = await parsed(args)
    expect({ code, output }).toEqual({ code: 2, output: '' })
    expect(errors).toContain(says)
  })

  test.each([
    ['--port', '99999'],
    ['--pay-to', '0x123'],
    ['--payment', 'later'],
    ['--facilitator-url', 'ftp://x'],
    ['--facilitator-auth', 'Bearer a\nb'],
    ['--access-log', 'maybe'],
    ['--trust-proxy', '10.0.0.0/33'],
    ['--trust-proxy', 'everybody'],
  ])('serve %s %s ends with 2', async (flag, value) => {
    const { code, errors } = await parsed(['serve', flag, value])
    expect(code).toBe(2)
    expect(errors).toContain(flag)
  })
})

describe('help', () => {
  test('is printed, and ends the process with 0', async () => {
    const { code, output } = await runCommand(['serve', '--help'])
    expect(code).toBe(0)
    expect(output).toContain('Usage: perpscope serve ')
  })

  test.each(program.commands.map((command) => command.name()))('of %s is there', async (name) => {
    const { code, output } = await parsed([name, '--help'])
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringContaining(`Usage: perpscope ${name} `),
    })
  })

  test.each([[['--help']], [['--version']], [['help', 'serve']]])(
    '%j ends with 0',
    async (args) => {
      const { code, output } = await parsed(args)
      expect(code).toBe(0)
      expect(output).not.toBe('')
    },
  )
})

describe('an unknown variable', () => {
  const table = ['indicators', TABLE]

  test('ends a command if it resembles a known one', async () => {
    const { code, errors } = await runCommand(['serve', '--payment', 'open'], {
      env: { PERPSCOPE_PAYTO: '0x1' },
    })
    expect(code).toBe(78)
    expect(errors).toBe(
      'perpscope: PERPSCOPE_PAYTO is not a setting; did you mean PERPSCOPE_PAY_TO?',
    )
  })

  test('is reported if it resembles none; a variable of another command is not', async () => {
    const env = { PERPSCOPE_SHARDS: '4', PERPSCOPE_PAY_TO: '0x1' }
    const { errors } = await runCommand(table, { env })
    expect(errors).toMatch(/PERPSCOPE_SHARDS is not a setting of version .* and is ignored/)
    expect(errors).not.toContain('PAY_TO')
  })
})

describe('perpscope serve', () => {
  test('does not start without a payee, and names every missing setting', async () => {
    const { code, errors } = await runCommand(['serve'])
    expect(code).toBe(78)
    expect(errors).toContain('PERPSCOPE_PAY_TO')
    expect(errors).toContain('--facilitator-url')
  })
})

describe('a configuration file', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-config-'))
  })

  afterAll(() => rm(folder, { recursive: true }))

  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }

  test('of serve: everything that is wrong is named at once, before anything starts', async () => {
    const empty = await file('empty', '')
    const config = await file(
      'wrong.toml',
      `prot = 1\nport = "1"\nfacilitator-key-file = "${empty}"`,
    )
    const { code, errors } = await runCommand(['serve', '--config', config, '--host', '0.0.0.0'], {
      env: { PERPSCOPE_ADMIN_PORT: 'x', PERPSCOPE_PAYTO: '0x1' },
    })
    expect(code).toBe(78)
    for (const problem of [
      'PERPSCOPE_PAYTO is not a setting; did you mean PERPSCOPE_PAY_TO?',
      `${config}:1: prot is not a setting; did you mean port?`,
      `${config}:2: port needs a number, not a string`,
      `${config}:3: facilitator-key-file: ${empty} is empty`,
      'PERPSCOPE_ADMIN_PORT = x: not an integer',
      '--pay-to (PERPSCOPE_PAY_TO) is missing',
      '--host 0.0.0.0 needs --public-url',
    ])
      expect(errors).toContain(problem)
  })

  test('is named as origin by perpscope config', async () => {
    const config = await file('open.toml', 'payment = "open"\nport = 1\n')
    const { code, output } = await runCommand(['config', '--config', config, '--json'], {
      env: { PERPSCOPE_PORT: '2' },
    })
    const { configuration } = JSON.parse(output) as { configuration: readonly object[] }
    expect(code).toBe(0)
    expect(configuration).toContainEqual({
      ...{ option: '--payment', variable: 'PERPSCOPE_PAYMENT', value: 'open' },
      ...{ origin: 'file', place: `${config}:1: payment` },
    })
    expect(configuration).toContainEqual(
      expect.objectContaining({ option: '--port', value: '2', origin: 'variable' }),
    )
    const table = await runCommand(['config', '--config', config])
    expect(table.output).toContain(`--port\t1\t${config}:2: port\n`)
  })

  test('that does not suffice is shown by perpscope config, and refused', async () => {
    const { code, output, errors } = await runCommand(['config'])
    expect({ code, lines: output.split('\n').length > 40 }).toEqual({ code: 78, lines: true })
    expect(errors).toContain('--pay-to (PERPSCOPE_PAY_TO) is missing')
  })

  test('is written by init with the mode 0600, read by doctor, and not overwritten', async () => {
    const config = join(folder, 'first.toml')
    const args = ['--payment', 'open', '--source', 'http://127.0.0.1:9', '--outside', 'off']
    const init = ['init', config, ...args, '--data-dir', folder]
    const { code, output } = await runCommand(init)
    expect(code, 'there is no venue').toBe(1)
    expect(output).toMatch(/venue, requests\t[\s\S]*then: perpscope serve --config .*first.toml\n$/)
    expect((await stat(config)).mode & 0o777).toBe(0o600)
    const written = await readFile(config, 'utf8')
    const again = await runCommand(init)
    expect(again).toMatchObject({ code: 78, output: '' })
    expect(again.errors).toContain('first.toml exists')
    expect(await readFile(config, 'utf8')).toBe(written)
    expect((await runCommand([...init, '--force', '--port', '99'])).code).toBe(1)
    expect(await readFile(config, 'utf8')).toMatch(/^port = 99$/m)
  })

  test('is not written by init without a terminal if something is missing', async () => {
    const config = join(folder, 'none.toml')
    const { code, errors } = await runCommand(['init', config, '--network', 'base-sepolia'])
    expect(code).toBe(78)
    expect(errors).toMatch(/--pay-to .* is missing[\s\S]*no facilitator is configured/)
    expect(existsSync(config)).toBe(false)
  })
})

describe('perpscope maintenance', () => {
  test('reports that no service answers', async () => {
    const { code, errors } = await runCommand(['maintenance', 'on', '--admin-port', '1'])
    expect(code).toBe(1)
    expect(errors).toContain('admin port 1')
  })

  test.skipIf(!hasPostgres)('sets and shows the mode of a ledger without a gateway', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.close())
    const ledger = await server.createDatabase()
    const run = (state: 'on' | 'off' | 'status') =>
      maintenanceCommand(state, { ledger, adminHost: '127.0.0.1', adminPort: 1 })
    expect(await run('status')).toBe('maintenance mode is off and was never on')
    const { output } = await runCommand(['maintenance', 'on', '--ledger', ledger])
    expect(output).toMatch(/is on/)
    expect(await run('status')).toMatch(/^maintenance mode is on since 20.*Z$/)
    expect(await run('off')).toMatch(/is off/)
    expect(await run('status')).toMatch(/^maintenance mode is off since 20.*Z$/)
    const lost = await runCommand([
      'maintenance',
      'on',
      '--ledger',
      'postgres://x:secret@127.0.0.1:1/x',
    ])
    expect(lost.code).toBe(1)
    expect(lost.errors).toContain('PostgreSQL is not available')
    expect(lost.errors).not.toContain('secret')
  })
})

describe('npm run demo', () => {
  test('reports a set-up that fails', async () => {
    const env = { TMPDIR: join(tmpdir(), 'is-not-there') }
    const { code, output, errors } = await runDemo(['--json'], { env })
    expect(code).toBe(1)
    expect(JSON.parse(output)).toMatchObject({ ok: false, purchases: [], paid_usdc: 0 })
    expect(errors).toContain('ENOENT')
  })
})

type Row = { readonly indicators: { readonly rsi_14: number; readonly ema_200: number | null } }
