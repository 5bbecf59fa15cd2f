import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inheritedEnv } from '../../src/config/environment.ts'
import type { Stage } from './stage.ts'

const ROOT = join(import.meta.dirname, '../..')
const MODULES = 'node_modules'
const CLIENT_MS_MAX = 120_000
const LOCAL_NODES = join(import.meta.dirname, 'local-nodes.mjs')

/** What the harness installs for its clients of version 1, and not part of this checkout. */
const LEGACY_PACKAGES = ['x402-fetch@1.2.0', 'x402-axios@0.7.2', 'dotenv@17.2.3'] as const
/** Published packages of this checkout, which the clients of version 2 import. */
const CHECKOUT_PACKAGES = [
  ...['@x402/axios', '@x402/core', '@x402/evm', '@x402/fetch', '@x402/svm'],
  ...['@modelcontextprotocol/sdk', '@scure/base', '@solana/kit', 'axios', 'viem', 'zod'],
] as const
/** Of chains on which nothing is sold. Their modules are empty, because the clients import but never use them. */
const OTHER_CHAINS = /^(@x402\/(aptos|avm|stellar)|@aptos-labs\/ts-sdk)(\/.*)?$/

export type HarnessClient = {
  readonly name: string
  readonly isLegacy: boolean
  readonly transport: 'http' | 'mcp'
  readonly versions: readonly (1 | 2)[]
  /** Its folder in the harness; after `install`, the folder of its copy. */
  readonly folder: string
}

type Config = {
  readonly name: string
  readonly language: string
  readonly transport?: 'mcp'
  readonly x402Versions: readonly (1 | 2)[]
}

/** Every TypeScript client, by the file that describes it. */
export function harnessClients(harness: string): readonly HarnessClient[] {
  const files = globSync('e2e/{clients,legacy/clients}/*/test.config.json', { cwd: harness })
  const clients = files.flatMap((file) => {
    const config: Config = JSON.parse(readFileSync(join(harness, file), 'utf8'))
    const isLegacy = file.startsWith('e2e/legacy/')
    if (config.language !== 'typescript') return []
    return {
      name: isLegacy ? `legacy/${config.name}` : config.name,
      isLegacy,
      transport: config.transport ?? 'http',
      versions: config.x402Versions.toSorted(),
      folder: join(harness, dirname(file)),
    } as const
  })
  if (clients.length === 0) throw new Error(`${harness}/e2e has no TypeScript clients`)
  return clients.toSorted((one, other) => one.name.localeCompare(other.name))
}

/** Copies the clients into `folder`, as they are, beside the packages that they import. */
export function install(
  clients: readonly HarnessClient[],
  harness: string,
  folder: string,
): readonly HarnessClient[] {
  const [legacy, current] = [join(folder, 'legacy'), join(folder, 'current')]
  for (const place of [legacy, current]) mkdirSync(join(place, MODULES), { recursive: true })
  writeFileSync(join(legacy, 'package.json'), '{"private":true,"type":"module"}')
  writeFileSync(join(current, 'package.json'), '{"private":true,"type":"module"}')
  execFileSync('npm', ['install', '--ignore-scripts', '--silent', ...LEGACY_PACKAGES], {
    cwd: legacy,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (const name of CHECKOUT_PACKAGES)
    link(join(ROOT, MODULES, name), join(current, MODULES, name))
  link(join(legacy, MODULES, 'dotenv'), join(current, MODULES, 'dotenv'))
  // It is not published, so the harness's own source is run.
  const mcp = join(current, 'x402-mcp')
  cpSync(join(harness, 'typescript/packages/mcp/src'), mcp, { recursive: true })
  writeFileSync(
    join(mcp, 'package.json'),
    '{"name":"@x402/mcp","type":"module","exports":"./index.ts"}',
  )
  link(mcp, join(current, MODULES, '@x402/mcp'))

  return clients.map((client) => {
    const place = join(client.isLegacy ? legacy : current, client.name.replace('/', '-'))
    mkdirSync(place)
    cpSync(join(client.folder, 'index.ts'), join(place, 'index.ts'))
    if (!client.isLegacy) writeEmptyModules(readFileSync(join(place, 'index.ts'), 'utf8'), current)
    return { ...client, folder: place }
  })
}

/** @returns null if the client has paid the price and received the answer, otherwise what went wrong. */
export async function run(
  client: HarnessClient,
  stage: Stage,
  url: string,
  path: string,
): Promise<string | null> {
  const before = await stage.balanceAtomic()
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--import', LOCAL_NODES, 'index.ts'],
    {
      cwd: client.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: CLIENT_MS_MAX,
      env: { ...inheritedEnv(), ...stage.clientEnv, RESOURCE_SERVER_URL: url, ENDPOINT_PATH: path },
    },
  )
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  const lastLine = output.trim().split('\n').at(-1) ?? ''
  const result = resultIn(lastLine)
  if (code !== 0 || result === null || !result.success || result.status_code !== 200)
    return `exit ${code}: ${result === null ? (/^.*Error.*$/m.exec(errors)?.[0] ?? output) : lastLine}`
  if (!result.payment_response?.transaction) return `no receipt: ${lastLine.slice(0, 600)}`
  const spent = before - (await stage.balanceAtomic())
  const price = client.transport === 'mcp' ? stage.toolPriceAtomic : stage.pathPriceAtomic
  return spent === price ? null : `${spent} millionths were paid, not ${price}`
}

type Result = {
  readonly success: boolean
  readonly status_code: number
  readonly payment_response?: { readonly transaction?: string }
}

function resultIn(line: string): Result | null {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  symlinkSync(from, to)
}

function writeEmptyModules(source: string, folder: string): void {
  for (const [, names = '', specifier = ''] of source.matchAll(
    /^import (?:type )?\{([^}]*)\} from "([^"]+)"/gm,
  )) {
    if (!OTHER_CHAINS.test(specifier)) continue
    const place = join(folder, MODULES, specifier)
    const file = join(place, 'index.js')
    const exported = names.split(',').map((name) => name.replace(/\btype\b|\bas \w+/g, '').trim())
    const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'package.json'), '{"type":"module","main":"index.js"}')
    const missing = exported.filter((name) => name !== '' && !before.includes(` ${name} `))
    writeFileSync(
      file,
      before + missing.map((name) => `export const ${name} = undefined\n`).join(''),
    )
  }
}
