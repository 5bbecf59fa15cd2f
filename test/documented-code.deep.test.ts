import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import { pathTemplateOf } from '../src/domain/contract.ts'
import { usdcDecimal } from '../src/domain/usdc.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { exactEvmMechanism } from './facilitator/exact-evm-mechanism.ts'
import { startSimulatedFacilitator } from './facilitator/simulated-facilitator.ts'
import { WALK_START_MS, walkOf, writeCandles } from './support/candle-walk.ts'
import { blockLines, liquidationsOf, writeArchive } from './support/node-fills.ts'
import type { Rig } from './support/service.ts'
import { fewCoins, mainMarketOnly, startRig, until, untilSold } from './support/service.ts'

/**
 * Every block of code in the README and in docs/ is run as it stands there. What a reader has to put in (an
 * address, a key, a URL) is put in, and settings that keep it on this machine come from the environment.
 */
const ROOT = join(import.meta.dirname, '..')
const MAIN = join(ROOT, 'dist/main.js')
const CANDLES = join(ROOT, 'src/compute/indicators/fixtures/flat-stretch-table.csv')
const FUNDS = 1_000_000n
/** Two rounds of books, after the history that a recording begins with. */
const RECORDED = { bytes: 200_000, ms: 20_000 } as const

type Block = { readonly page: string; readonly language: string; readonly code: string }

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => `docs/${name}`),
]
const blocks: readonly Block[] = pages.flatMap((page) =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', code = '']) => ({ page, language, code }),
  ),
)
const blocksOf = (language: string, page?: string) =>
  blocks.filter((block) => block.language === language && (page ?? block.page) === block.page)

test('each says what language it is in, and is run unless it is a text', () => {
  expect(blocks.length).toBeGreaterThan(15)
  const runHere = ['sh', 'ts', 'python', 'json', 'text']
  expect(blocks.filter(({ language }) => !runHere.includes(language))).toEqual([])
  const jsonPages = new Set(blocksOf('json').map(({ page }) => page))
  expect([...jsonPages].sort()).toEqual(['README.md', 'docs/faults.md', 'docs/simulated-world.md'])
})

/** At the same time: each has a wallet of its own, and waits for its purchase. */
describe.concurrent('what buys', () => {
  let rig: Rig

  beforeAll(async () => {
    rig = await startRig({ solana: true, flags: mainMarketOnly })
    await untilSold(rig.url, pulse.contract, 'BTC')
  })

  afterAll(() => rig?.close())

  async function wallet() {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await rig.chain.fundUsdc(address, FUNDS)
    return { key, spent: async () => FUNDS - (await rig.chain.balanceOf(address)) }
  }

  /**
   * Runs a program that buys; again where a busy machine has older data than it quoted, which is refused without a charge.
   */
  async function bought(program: string, args: readonly string[], cwd = ROOT) {
    for (;;) {
      const child = spawn(program, args, {
        cwd,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: inheritedEnv(),
      })
      const { code, output, errors } = await ended(child)
      if ((output + errors).includes('data_stale')) continue
      expect(code, errors).toBe(0)
      return output
    }
  }

  const purchases = blocksOf('ts').map(({ page, code }, at) => ({ page, code, at: at + 1 }))

  test.each(purchases)('$page, no. $at, pays for one pulse and gets it', async ({ code }) => {
    const { key, spent } = await wallet()
    const filled = put(code, {
      "'0x…'": `'${key}'`,
      'http://127.0.0.1:8402': rig.url,
      '/path/to/perpscope': ROOT,
    })
    const shown = `${filled}\nconsole.log(JSON.stringify(answer))`
    const flags = ['--input-type=module-typescript', '--eval', shown]
    const output = await bought(process.execPath, flags)
    expect(JSON.parse(output.trim().split('\n').at(-1) ?? '')).toMatchObject({ coin: 'BTC' })
    expect(await spent()).toBe(pulse.contract.priceUsdcAtomic)
  })

  const scripts = blocksOf('python').map(({ page, code }) => ({ page, code, needs: needsOf(code) }))

  test.for(scripts)(
    '$page: Python with $needs pays for one pulse and gets it',
    async ({ code, needs }, { skip }) => {
      const imports = spawnSync('python3', ['-c', `import ${needs}`], { stdio: 'ignore' })
      skip(imports.status !== 0, `python3 does not have ${needs}`)
      const { key, spent } = await wallet()
      const filled = put(code, { '0x…': key, 'http://127.0.0.1:8402': rig.url })
      expect(JSON.parse(await bought('python3', ['-c', filled]))).toMatchObject({ coin: 'BTC' })
      expect(await spent()).toBe(pulse.contract.priceUsdcAtomic)
    },
  )

  const lines = blocksOf('sh').flatMap(({ code }) => code.split('\n').map(plain).filter(isPurchase))

  test.each(lines)('%s pays for one pulse and gets it', async (line) => {
    const { key, spent } = await wallet()
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-buyer-'))
    try {
      await symlink(join(ROOT, 'dist'), join(folder, 'dist'))
      await writeFile(join(folder, 'wallet.key'), key)
      const [, ...args] = put(line, { 'https://api.example.com': rig.url }).split(/\s+/)
      const output = await bought(process.execPath, args, folder)
      expect(JSON.parse(output)).toMatchObject({ coin: 'BTC' })
      expect(await spent()).toBe(pulse.contract.priceUsdcAtomic)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('the configuration of a desktop client starts what offers the tools and pays for them', async () => {
    const { key, spent } = await wallet()
    const [block, ...others] = blocksOf('json', 'README.md')
    expect(others).toEqual([])
    const { mcpServers } = JSON.parse(
      put(block?.code ?? '', {
        '/path/to/perpscope': ROOT,
        'https://api.example.com': rig.url,
        '0x…': key,
      }),
    )
    const { command, args, env } = mcpServers.perpscope
    const client = new Client({ name: 'test', version: '1.0.0' })
    const settings = {
      command,
      args,
      env: { ...inheritedEnv(), ...env },
      stderr: 'ignore',
    } as const
    await client.connect(new StdioClientTransport(settings))
    try {
      const bought = await client.callTool({ name: 'get_pulse', arguments: { coin: 'BTC' } })
      expect(bought.structuredContent).toMatchObject({ coin: 'BTC' })
      expect(await spent()).toBe(pulse.contract.priceUsdcAtomic)
    } finally {
      await client.close()
    }
  })
})

describe('the commands', () => {
  const [start, ...others] = blocksOf('sh')

  test('of the README’s beginning are what .ci/run calls on a fresh machine', () => {
    const ci = readFileSync(join(ROOT, '.ci/run'), 'utf8')
    const commands = (start?.code ?? '').split('\n').filter((line) => line !== '')
    expect(commands).toHaveLength(2)
    for (const line of commands)
      for (const command of plain(line).split(' && '))
        expect(ci.replaceAll('--silent ', '')).toContain(command)
  })

  test('work line by line', async () => {
    const key = generatePrivateKey()
    const facilitator = await startSimulatedFacilitator({
      // Nobody pays, so it needs no chain.
      mechanism: exactEvmMechanism('http://127.0.0.1:9', key),
      clock: systemClock,
    })
    const venue = launch(MAIN, ['simulate', ...fewCoins, '--weight-per-minute', '60000'], 'pipe')
    const folder = await folderOfReader()
    const { http } = (JSON.parse(await firstLineOf(venue)) as { venue: { http: string } }).venue
    const ports = { port: await freePort(), adminPort: await freePort() }
    const reader = new Reader(folder, ports, {
      'http://127.0.0.1:PORT': http,
      '0xYourAddress': privateKeyToAccount(key).address,
      'https://facilitator.example': facilitator.url,
      '/mnt/backup/perpscope': 'backup',
      ' …': ' --payment open',
    })
    try {
      // In the order of the pages, of which later ones use files of earlier ones. Lines that two pages share run once.
      const lines = new Set(others.flatMap(({ code }) => code.split('\n').map(plain)))
      for (const line of lines) if (isCommand(line) && !isPurchase(line)) await reader.run(line)
    } finally {
      await reader.end()
      await end(venue)
      await facilitator.close()
      await rm(folder, { recursive: true })
    }
  })
})

test('the table that the demo prints in the README has what is sold, at its price', () => {
  const [printed] = blocksOf('text', 'README.md')
  const rows = [
    ...(printed?.code ?? '').matchAll(/│ (\S+) +│ (\/\S+) +│ \S+ +│ +([\d.]+) │ +200 │/g),
  ]
  const expected = contracts.map((contract) => [
    contract.id,
    pathTemplateOf(contract).replace(/\{\w+\}/, 'BTC'),
    usdcDecimal(contract.priceUsdcAtomic),
  ])
  const remedy = 'replace the table in README.md by that of npm run demo -- --once'
  expect(rows.map(([, ...cells]) => cells).sort(), remedy).toEqual(expected.sort())
})

function isCommand(line: string): boolean {
  return line !== '' && line !== 'npm run build'
}

/** These run where something is sold for money. */
function isPurchase(line: string): boolean {
  return line.startsWith('node dist/main.js buy ')
}

/** What the pages presuppose: the build, and files that the reader has. */
async function folderOfReader(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-documented-'))
  await symlink(join(ROOT, 'dist'), join(folder, 'dist'))
  const candles = readFileSync(CANDLES, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(',').slice(0, 6).join())
  await writeFile(join(folder, 'candles.csv.gz'), gzipSync(candles.join('\n')))
  const faults = blocksOf('json', 'docs/faults.md').map(({ code }) => code)
  await writeFile(join(folder, 'faults.jsonl'), faults.join(''))
  const [world, ...worlds] = blocksOf('json', 'docs/simulated-world.md')
  expect(worlds).toEqual([])
  await writeFile(join(folder, 'world.json'), world?.code ?? '')
  const coin = walkOf('BTC', 1, 16)
  writeCandles(join(folder, 'market'), [coin])
  const fromMs = WALK_START_MS + 14 * 24 * 3_600_000
  const fills = { fromMs, untilMs: fromMs + 24 * 3_600_000, stepMs: 60_000 }
  writeArchive(join(folder, 'fills'), blockLines(fills, liquidationsOf(coin, 1)))
  return folder
}

/** Runs documented commands one after the other in a folder, until each has done what it is for. */
class Reader {
  readonly #folder: string
  readonly #ports: { readonly port: number; readonly adminPort: number }
  /** What the reader puts in. */
  readonly #values: Readonly<Record<string, string>>
  #running: ChildProcess | null = null

  constructor(
    folder: string,
    ports: { readonly port: number; readonly adminPort: number },
    values: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder
    this.#ports = ports
    this.#values = values
  }

  async run(line: string): Promise<void> {
    const filled = put(line.replace(/^perpscope /, 'node dist/main.js '), this.#values)
    const [program, script = '', command = '', ...args] = filled.trim().split(/\s+/)
    expect([program, script], line).toEqual(['node', 'dist/main.js'])
    // A new service takes the place of the old one; a recording has one writer.
    if (['serve', 'record', 'restore'].includes(command)) await this.end()
    const child = spawn(process.execPath, [script, command, ...args], {
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...inheritedEnv(),
        PERPSCOPE_PORT: String(this.#ports.port),
        PERPSCOPE_ADMIN_PORT: String(this.#ports.adminPort),
        PERPSCOPE_SIMULATOR_PORT: '0',
        PERPSCOPE_DATA_DIR: 'data',
        PERPSCOPE_SOURCE: this.#values['http://127.0.0.1:PORT'] ?? '',
        PERPSCOPE_OUTSIDE: 'off',
        PERPSCOPE_DEXES: 'off',
        PERPSCOPE_LOG_LEVEL: 'silent',
        // No test asks a public node.
        PERPSCOPE_OUTCOME_NODE: 'off',
      },
    })
    try {
      if (command === 'serve') await this.#serves(child, line, args)
      else if (command === 'record') await this.#records(child, line, args)
      else if (command === 'simulate') await simulates(child, line)
      else if (ENDING.includes(command)) await succeeds(child, line)
      else expect.fail(`${line}: this test does not know what ${command} is for`)
      if (command === 'ledger')
        expect(existsSync(join(this.#folder, after('--csv', args)))).toBe(true)
    } finally {
      if (command !== 'serve') await end(child)
    }
  }

  async end(): Promise<void> {
    if (this.#running !== null) await end(this.#running)
    this.#running = null
  }

  /** It stays up for the lines that follow. */
  async #serves(child: ChildProcess, line: string, args: readonly string[]): Promise<void> {
    this.#running = child
    let said = ''
    child.stdout?.resume()
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk
    })
    await until(`${line} answers`, async () => {
      if (child.exitCode !== null) return true
      const health = await (await fetch(`http://127.0.0.1:${this.#ports.port}/health`)).json()
      return (health as { feeds: unknown[] }).feeds.length > 0
    })
    expect(child.exitCode, `${line}\n${said}`).toBeNull()
    if (!args.includes('--record')) return
    const path = join(this.#folder, after('--record', args))
    await until(`${path} grows`, async () => statSync(path).size > 0)
  }

  async #records(child: ChildProcess, line: string, args: readonly string[]): Promise<void> {
    const said = ended(child)
    const path = join(this.#folder, after('--out', args))
    const sizeBefore = existsSync(path) ? statSync(path).size : 0
    const recorded = () => (existsSync(path) ? statSync(path).size - sizeBefore : 0)
    await until(`${path} grows`, async () => recorded() > 0)
    const beganMs = performance.now()
    await until(
      `${path} has books`,
      async () => recorded() > RECORDED.bytes && performance.now() - beganMs > RECORDED.ms,
    )
    child.kill('SIGINT')
    const { code, errors } = await said
    expect(code, `${line}\n${errors}`).toBe(0)
  }
}

/** Commands that end by themselves. */
const ENDING = [
  ...['backup', 'config', 'doctor', 'indicators', 'init'],
  ...['ledger', 'maintenance', 'replay', 'restore', 'track-record'],
]

async function succeeds(child: ChildProcess, line: string): Promise<void> {
  const { code, output, errors } = await ended(child)
  expect(code, `${line}\n${output}${errors}`).toBe(0)
  expect(output, line).not.toBe('')
}

async function simulates(child: ChildProcess, line: string): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const first = await firstLineOf(child).catch(() => '{}')
  expect(JSON.parse(first), `${line}\n${said}`).toHaveProperty('venue.http')
}

function after(flag: string, args: readonly string[]): string {
  return args[args.indexOf(flag) + 1] ?? ''
}

async function ended(child: ChildProcess) {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new TypeError('both are pipes')
  const [output, errors, [code]] = await Promise.all([
    text(stdout),
    text(stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { output, errors, code }
}

/** The packages that a Python block imports, without those of Python itself. */
function needsOf(code: string): string {
  const modules = Array.from(code.matchAll(/^(?:from|import) (\w+)/gm), ([, name = '']) => name)
  return [...new Set(modules)].filter((name) => name !== 'asyncio').join(', ')
}

/** Without its comment. */
function plain(line: string): string {
  return line.replace(/\s+#.*$/, '')
}

function put(written: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce(
    (filled, [placeholder, value]) => filled.replaceAll(placeholder, value),
    written,
  )
}
