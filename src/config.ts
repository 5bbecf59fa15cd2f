import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAddress } from '@solana/kit'
import { InvalidArgumentError, Option } from 'commander'
import type { SourceId } from './domain/outside.ts'
import { sourceIds } from './domain/outside.ts'
import type { FinalityRule } from './payment/finality.ts'
import { finalities } from './payment/finality.ts'
import { DEX_NAME } from './streams/venues/hyperliquid/dexes.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from './streams/venues/hyperliquid/weight-budget.ts'

/**
 * Every option of every command: flag, environment variable, default, help line. Nothing else in the
 * project reads the environment; what the commands get is complete and checked.
 */

const DEFAULT_PORT = 8402
const DEFAULT_ADMIN_PORT = 9402
const DATA_DIR = './data'
const HEX_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HEX_KEY = /^0x[0-9a-fA-F]{64}$/
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/

export const shared = {
  dataDir: () =>
    option('--data-dir <dir>', 'PERPSCOPE_DATA_DIR', 'where the databases live').default(DATA_DIR),
  adminPort: () =>
    option('--admin-port <port>', 'PERPSCOPE_ADMIN_PORT', 'admin interface, loopback only')
      .default(DEFAULT_ADMIN_PORT)
      .argParser(port),
}

const RECORDING_BYTES_MAX = 1024 ** 3

export type ServeOptions = {
  readonly source: string
  readonly host: string
  readonly port: number
  readonly adminPort: number
  readonly dataDir: string
  readonly trustProxy?: number | readonly string[]
  readonly publicUrl?: string
  readonly contactEmail?: string
  readonly payment: 'x402' | 'open'
  readonly payTo?: `0x${string}`
  readonly network: 'base' | 'base-sepolia'
  readonly facilitatorUrl?: readonly string[]
  readonly facilitatorAuth?: readonly string[]
  readonly rpcUrl?: string
  readonly facilitatorKey?: `0x${string}`
  readonly solanaPayTo?: string
  readonly solanaNetwork: 'mainnet' | 'devnet'
  readonly solanaRpcUrl?: string
  readonly solanaFacilitatorKey?: string
  readonly paymentChannels: 'on' | 'off'
  readonly receiptKey?: `0x${string}`
  readonly finality: readonly FinalityRule[]
  readonly broadcastPayerMax: bigint
  readonly broadcastTotalMax: bigint
  readonly weightPerMinute: number
  readonly dexes: readonly string[] | 'all'
  readonly outside: 'on' | 'off'
  readonly sourceUrl: SourceUrls
  readonly pythKey?: string
  readonly accessLog: 'on' | 'off'
  readonly logLevel: string
  readonly record?: string
  readonly recordMaxBytes: number
}

export const serveOptions: readonly Option[] = [
  option('--source <source>', 'PERPSCOPE_SOURCE', "'live', or the URL of a simulator").default(
    'live',
  ),
  option('--host <host>', 'PERPSCOPE_HOST', 'address to listen on').default('127.0.0.1'),
  option('--port <port>', 'PERPSCOPE_PORT', 'public port, 0 for any')
    .default(DEFAULT_PORT)
    .argParser(port),
  shared.adminPort(),
  shared.dataDir(),
  option(
    '--trust-proxy <hops|list>',
    'PERPSCOPE_TRUST_PROXY',
    'believe X-Forwarded-For of these proxies: addresses and networks, or their number where nobody ' +
      'but the proxy can reach the port (default: believe nobody)',
  ).argParser(proxies),
  option(
    '--public-url <url>',
    'PERPSCOPE_PUBLIC_URL',
    'base of the resource URLs that buyers sign for (default: the listening address, on loopback)',
  ).argParser(url),
  option(
    '--contact-email <address>',
    'PERPSCOPE_CONTACT_EMAIL',
    'whom to write to about this service, for the published documents (default: nobody)',
  ),
  option(
    '--payment <mode>',
    'PERPSCOPE_PAYMENT',
    "'x402', or 'open' for private use without payment",
  )
    .choices(['x402', 'open'])
    .default('x402'),
  option('--pay-to <address>', 'PERPSCOPE_PAY_TO', 'address that receives the USDC').argParser(
    address,
  ),
  option('--network <network>', 'PERPSCOPE_NETWORK', 'chain that payments settle on')
    .choices(['base', 'base-sepolia'])
    .default('base'),
  option(
    '--facilitator-url <urls>',
    'PERPSCOPE_FACILITATOR_URL',
    'x402 facilitators that verify and settle, in order of preference: repeat it, or put | between them',
  ).argParser(urlList),
  option(
    '--facilitator-auth <values>',
    'PERPSCOPE_FACILITATOR_AUTH',
    'Authorization header for the facilitators: one for all, or one each with | between them, empty for none; ' +
      'prefer the variable, flags are visible to other users',
  ).argParser(headerValues),
  option(
    '--rpc-url <url>',
    'PERPSCOPE_RPC_URL',
    'chain node; with --facilitator-key the service settles by itself',
  ).argParser(url),
  option(
    '--facilitator-key <key>',
    'PERPSCOPE_FACILITATOR_KEY',
    'key that pays the gas; prefer the variable, flags are visible to other users',
  ).argParser(key),
  option(
    '--solana-pay-to <address>',
    'PERPSCOPE_SOLANA_PAY_TO',
    'wallet that receives USDC on Solana as well; its account for USDC must exist',
  ).argParser(solanaAddress),
  option('--solana-network <network>', 'PERPSCOPE_SOLANA_NETWORK', 'cluster that those settle on')
    .choices(['mainnet', 'devnet'])
    .default('mainnet'),
  option(
    '--solana-rpc-url <url>',
    'PERPSCOPE_SOLANA_RPC_URL',
    'Solana node; with --solana-facilitator-key the service settles there by itself',
  ).argParser(url),
  option(
    '--solana-facilitator-key <key>',
    'PERPSCOPE_SOLANA_FACILITATOR_KEY',
    'key that pays the fees on Solana, in base58 or as the JSON of a key file; prefer the variable',
  ),
  option(
    '--payment-channels <on|off>',
    'PERPSCOPE_PAYMENT_CHANNELS',
    'take payments by channel too (scheme batch-settlement: a deposit once, then a signature a call); needs --rpc-url ' +
      'and --facilitator-key; NOT proven on a public network yet',
  )
    .choices(['on', 'off'])
    .default('off'),
  option(
    '--receipt-key <key>',
    'PERPSCOPE_RECEIPT_KEY',
    'key that signs a receipt of every sale, and offers for those who ask; prefer the variable, flags are ' +
      'visible to other users (default: nothing is signed)',
  ).argParser(key),
  option(
    '--finality <rules>',
    'PERPSCOPE_FINALITY',
    'how sure of the money before an answer leaves: confirmed, preconfirmed or broadcast, for all prices or up to one, ' +
      'as in broadcast:0.02,preconfirmed:0.05; what is dearer is confirmed',
  )
    .default([], 'confirmed')
    .argParser(finalityRules),
  option(
    '--broadcast-payer-max <usdc>',
    'PERPSCOPE_BROADCAST_PAYER_MAX',
    'what one payer may owe by answers that were given on a broadcast',
  )
    .default(100_000n, '0.1')
    .argParser(usdcAtomic),
  option(
    '--broadcast-total-max <usdc>',
    'PERPSCOPE_BROADCAST_TOTAL_MAX',
    'what all payers together may owe by such answers',
  )
    .default(5_000_000n, '5')
    .argParser(usdcAtomic),
  option(
    '--weight-per-minute <weight>',
    'PERPSCOPE_WEIGHT_PER_MINUTE',
    "share of the venue's 1200 REST weight per minute to plan with",
  )
    .default(WEIGHT_PER_MINUTE_DEFAULT)
    .argParser(positive),
  option(
    '--dexes <names>',
    'PERPSCOPE_DEXES',
    "builder-deployed dexes (HIP-3) to follow beside the venue's own, comma-separated, or 'all'; their coins are called dex:COIN",
  )
    .default([], 'none')
    .argParser(dexNames),
  option(
    '--outside <on|off>',
    'PERPSCOPE_OUTSIDE',
    'listen to oracle networks, exchanges and chains beside the venue',
  )
    .choices(['on', 'off'])
    .default('on'),
  option(
    '--source-url <source=urls...>',
    'PERPSCOPE_SOURCE_URL',
    'where a source is reached instead, several URLs with | between them, in order of preference; an empty one turns it off',
  )
    .default({}, 'the public ones')
    .argParser(sourceUrl),
  option(
    '--pyth-key <key>',
    'PERPSCOPE_PYTH_KEY',
    'key for the stream of Pyth Hermes; prefer the variable (default: none, its public accounts on chains are read instead)',
  ).argParser(headerValue),
  option('--access-log <on|off>', 'PERPSCOPE_ACCESS_LOG', 'one line per request')
    .choices(['on', 'off'])
    .default('on'),
  option('--log-level <level>', 'PERPSCOPE_LOG_LEVEL', 'what is written to standard error')
    .choices(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info'),
  option(
    '--record <file>',
    'PERPSCOPE_RECORD',
    'append everything that reaches the engine to this file, for perpscope replay',
  ),
  option(
    '--record-max-bytes <bytes>',
    'PERPSCOPE_RECORD_MAX_BYTES',
    'size of the file at which recording stops; the service goes on',
  )
    .default(RECORDING_BYTES_MAX)
    .argParser(positive),
]

export type RecordOptions = Pick<
  ServeOptions,
  | 'source'
  | 'dataDir'
  | 'weightPerMinute'
  | 'dexes'
  | 'outside'
  | 'sourceUrl'
  | 'pythKey'
  | 'logLevel'
> & {
  readonly out: string
  readonly maxBytes: number
}

export const recordOptions: readonly Option[] = [
  option('--out <file>', 'PERPSCOPE_RECORD_OUT', 'file to append to').makeOptionMandatory(),
  option('--max-bytes <bytes>', 'PERPSCOPE_RECORD_MAX_BYTES', 'size of the file at which to stop')
    .default(RECORDING_BYTES_MAX)
    .argParser(positive),
  ...asWithServe(
    '--source',
    '--data-dir',
    '--weight-per-minute',
    '--dexes',
    '--outside',
    '--source-url',
    '--pyth-key',
  ),
  option('--log-level <level>', 'PERPSCOPE_LOG_LEVEL', 'what is written to standard error')
    .choices(['debug', 'info', 'warn', 'error', 'silent'])
    .default('warn'),
]

export type ReplayOptions = {
  readonly until?: number
  readonly coin?: string
  readonly analysis: string
  readonly view?: string
  readonly documents?: string
  readonly hash?: true
  readonly json?: true
}

export const replayOptions: readonly Option[] = [
  option(
    '--until <time>',
    'PERPSCOPE_REPLAY_UNTIL',
    'stop behind this instant, ISO 8601 such as 2026-01-31T12:00:00.250Z',
  ).argParser(instantMs),
  option('--coin <ticker>', 'PERPSCOPE_REPLAY_COIN', 'print its last document, and nothing else'),
  option('--analysis <id>', 'PERPSCOPE_REPLAY_ANALYSIS', 'of which analysis').default('pulse'),
  option(
    '--view <value>',
    'PERPSCOPE_REPLAY_VIEW',
    "what a caller asks behind '?', such as 15m,1h for pulse (default: what is sent unasked)",
  ),
  option(
    '--documents <dir>',
    'PERPSCOPE_REPLAY_DOCUMENTS',
    'write the last documents of all coins there, a file for each view',
  ),
  option(
    '--hash',
    'PERPSCOPE_REPLAY_HASH',
    'print the SHA-256 of all documents, and nothing else',
  ).conflicts(['coin', 'json']),
  option('--json', 'PERPSCOPE_REPLAY_JSON', 'print the summary as one JSON object'),
]

export type DoctorOptions = ServeOptions & { readonly json?: true }

/** All of `serve`, so that what is checked is what would run. */
export const doctorOptions: readonly Option[] = [
  ...serveOptions,
  new Option('--json', 'print one JSON report'),
]

export type McpOptions = {
  readonly url: string
  readonly walletKey?: `0x${string}`
  readonly solanaKey?: Uint8Array
  readonly solanaRpcUrl?: string
  readonly budgetUsd: number
  readonly maxUsdPerCall: number
}

export const mcpOptions: readonly Option[] = [
  option('--url <url>', 'PERPSCOPE_URL', 'the service whose tools are offered')
    .makeOptionMandatory()
    .argParser(url),
  option(
    '--wallet-key <key>',
    'PERPSCOPE_WALLET_KEY',
    'pays with USDC on Base; prefer the variable, flags are visible to other users',
  ).argParser(key),
  option(
    '--solana-key <bytes>',
    'PERPSCOPE_SOLANA_KEY',
    'pays with USDC on Solana: the 64 numbers of a wallet file as JSON; prefer the variable',
  ).argParser(keyBytes),
  option(
    '--solana-rpc-url <url>',
    'PERPSCOPE_SOLANA_RPC_URL',
    'Solana node of the buyer',
  ).argParser(url),
  option('--budget-usd <usdc>', 'PERPSCOPE_BUDGET_USD', 'what all calls together may cost')
    .default(1)
    .argParser(positive),
  option('--max-usd-per-call <usdc>', 'PERPSCOPE_MAX_USD_PER_CALL', 'what one call may cost')
    .default(0.1)
    .argParser(positive),
]

export type LedgerOptions = {
  readonly dataDir: string
  readonly since?: number
  readonly until?: number
  readonly csv?: string
  readonly json?: true
}

export const ledgerOptions: readonly Option[] = [
  shared.dataDir(),
  option(
    '--since <time>',
    'PERPSCOPE_LEDGER_SINCE',
    'leave out what was sold before this day or instant, such as 2026-01-31',
  ).argParser(dayOrInstantMs),
  option(
    '--until <time>',
    'PERPSCOPE_LEDGER_UNTIL',
    'leave out what was sold from this day or instant on',
  ).argParser(dayOrInstantMs),
  option('--csv <file>', 'PERPSCOPE_LEDGER_CSV', 'write every payment there as well'),
  option('--json', 'PERPSCOPE_LEDGER_JSON', 'print the sums as one JSON object'),
]

export type SimulateOptions = {
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly startMs?: number
  readonly candles?: string
  readonly recording?: string
  readonly frames?: string
  readonly faults?: string
  readonly world?: string
  readonly weightPerMinute: number
}

export const simulateOptions: readonly Option[] = [
  option('--port <port>', 'PERPSCOPE_SIMULATOR_PORT', 'port of the venue, 0 for any')
    .default(0)
    .argParser(port),
  option('--seed <seed>', 'PERPSCOPE_SEED', 'market to draw').default(1).argParser(integer),
  option('--speed <factor>', 'PERPSCOPE_SPEED', 'how fast simulated time runs')
    .default(1)
    .argParser(positive),
  option(
    '--start-ms <time>',
    'PERPSCOPE_START_MS',
    'simulated time at the start, Unix ms (default: now); with a fixed one and a seed two runs are identical, but a service on the real clock wants the default',
  ).argParser(integer),
  option(
    '--candles <dir>',
    'PERPSCOPE_CANDLES',
    'replay recorded candles (hl-candles-2025-07 layout)',
  ),
  option(
    '--recording <dir>',
    'PERPSCOPE_RECORDING',
    'replay recorded books and trades (hl-l2-trades-2025-09 layout)',
  ),
  option(
    '--frames <file>',
    'PERPSCOPE_FRAMES',
    'replay the books and trades of a file of perpscope record (see docs/recording.md)',
  ).conflicts('recording'),
  option('--faults <file>', 'PERPSCOPE_FAULTS', 'what goes wrong when (see docs/faults.md)'),
  option(
    '--world <file>',
    'PERPSCOPE_WORLD',
    'what happens when beyond the venue: depegs, gaps, dead sources (see docs/simulated-world.md)',
  ),
  option(
    '--weight-per-minute <weight>',
    'PERPSCOPE_SIMULATOR_WEIGHT_PER_MINUTE',
    'REST weight that the simulated venue allows',
  )
    .default(1_200)
    .argParser(positive),
]

export class ConfigError extends Error {}

/** Package version, reported by `--version` and `/health`. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version

/** For children: what this process inherited, without our own settings, which they are given as flags. */
export function inheritedEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PERPSCOPE_'))
  return Object.fromEntries(entries) as Record<string, string>
}

/** Whether the operator wants colours there: https://no-color.org. */
export function mayColor(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
}

/** Checks what no single option can. @throws ConfigError naming every problem and its remedy. */
export function checkServeOptions(options: ServeOptions): void {
  if (options.payment === 'open') return
  const problems: string[] = []
  if (options.payTo === undefined)
    problems.push('--pay-to (PERPSCOPE_PAY_TO) is missing: the address that receives the USDC')
  if (options.port === 0 && options.publicUrl === undefined)
    problems.push('--port 0 needs --public-url: quotes name the URL that is bought')
  if (!LOOPBACK.test(options.host) && options.publicUrl === undefined)
    problems.push(`--host ${options.host} needs --public-url: quotes name the URL that is bought`)
  const settlesItself = options.rpcUrl !== undefined && options.facilitatorKey !== undefined
  if (options.facilitatorUrl === undefined && !settlesItself)
    problems.push(
      'nobody settles: give --facilitator-url, or --rpc-url together with --facilitator-key',
    )
  problems.push(...solanaProblems(options))
  if (options.paymentChannels === 'on' && !settlesItself)
    problems.push(
      '--payment-channels on needs --rpc-url and --facilitator-key: it claims by itself',
    )
  const { facilitatorUrl: urls = [], facilitatorAuth: values = [] } = options
  if (values.length > 1 && values.length !== urls.length)
    problems.push(
      `--facilitator-auth has ${values.length} values for ${urls.length} facilitators: give one, or one each`,
    )
  if (problems.length > 0)
    throw new ConfigError(
      `${problems.join('\n')}\n(or run without payment: --payment open, for private use)`,
    )
}

/** Solana stands beside the first network: without a payee there nothing else about it has a meaning. */
function solanaProblems(options: ServeOptions): readonly string[] {
  const { solanaPayTo, solanaRpcUrl, solanaFacilitatorKey, facilitatorUrl } = options
  if (solanaPayTo === undefined)
    return solanaRpcUrl === undefined && solanaFacilitatorKey === undefined
      ? []
      : ['--solana-pay-to (PERPSCOPE_SOLANA_PAY_TO) is missing: the wallet that receives the USDC']
  if (solanaFacilitatorKey !== undefined && solanaRpcUrl === undefined)
    return ['--solana-facilitator-key needs --solana-rpc-url: a node to settle with']
  return solanaFacilitatorKey === undefined && facilitatorUrl === undefined
    ? [
        'nobody settles on Solana: give --facilitator-url, or --solana-rpc-url together with --solana-facilitator-key',
      ]
    : []
}

/** Options that mean the same as with `serve`. */
function asWithServe(...flags: readonly string[]): readonly Option[] {
  return serveOptions.filter(({ long }) => long !== undefined && flags.includes(long))
}

function option(flags: string, variable: string, description: string): Option {
  return new Option(flags, description).env(variable)
}

function port(text: string): number {
  const value = integer(text)
  if (value < 0 || value > 65_535) throw new InvalidArgumentError('not a port')
  return value
}

function integer(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('not an integer')
  return value
}

function positive(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('not a positive number')
  return value
}

/** URLs by source; an empty list turns a source off. */
export type SourceUrls = Readonly<Partial<Record<SourceId, readonly string[]>>>

function sourceUrl(text: string, before: SourceUrls): SourceUrls {
  const [, id = '', list = ''] = /^([^=]+)=(.*)$/.exec(text) ?? []
  if (!(sourceIds as readonly string[]).includes(id))
    throw new InvalidArgumentError(`not source=urls with one of ${sourceIds.join(', ')}`)
  const urls = list.split('|').filter((item) => item !== '')
  for (const item of urls)
    if (!URL.canParse(item) || !/^(https?|wss?):/.test(item))
      throw new InvalidArgumentError(`not an http or websocket URL: ${item}`)
  return { ...before, [id]: urls }
}

function dexNames(text: string): readonly string[] | 'all' {
  if (text === 'all') return 'all'
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  if (!names.every((name) => DEX_NAME.test(name)))
    throw new InvalidArgumentError("not a list of dex names such as 'xyz,flx'")
  return names
}

function finalityRules(text: string): readonly FinalityRule[] {
  return text.split(',').map((item) => {
    const [name, price] = item.trim().split(':')
    const finality = finalities.find((one) => one === name)
    if (finality === undefined)
      throw new InvalidArgumentError(`not one of ${finalities.join(', ')}: ${item.trim()}`)
    return { finality, upTo: price === undefined ? null : usdcAtomic(price) }
  })
}

/** Exact: what has more than six decimals is no amount of USDC. */
function usdcAtomic(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  if (whole === undefined) throw new InvalidArgumentError('not an amount of USDC such as 0.05')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

/** A day means its beginning in UTC. */
function dayOrInstantMs(text: string): number {
  return instantMs(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
}

function instantMs(text: string): number {
  const timeMs = Date.parse(text)
  // Without a zone it would mean another instant on another machine.
  if (Number.isNaN(timeMs) || !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text))
    throw new InvalidArgumentError('not an instant such as 2026-01-31T12:00:00Z')
  return timeMs
}

function url(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new InvalidArgumentError('not an http URL')
  return text.replace(/\/$/, '')
}

/** Those of `before` come first: an option that is given again adds to itself. */
function urlList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split('|').map((item) => url(item.trim()))]
}

/** As `urlList`; an empty value keeps the place of one that needs none. */
function headerValues(text: string, before: readonly string[] = []): readonly string[] {
  const values = text.split('|').map((item) => item.trim())
  return [...before, ...values.map((value) => (value === '' ? value : headerValue(value)))]
}

function proxies(text: string): number | readonly string[] {
  if (/^\d+$/.test(text)) return integer(text)
  const list = text.split(',').map((item) => item.trim())
  if (list.every(isNetwork)) return list
  throw new InvalidArgumentError(
    'neither a number nor a list of addresses, networks such as 10.0.0.0/8, or of loopback, ' +
      'linklocal and uniquelocal',
  )
}

function isNetwork(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [host = '', prefix = '1', ...rest] = text.split('/')
  const bitsMax = isIP(host) === 6 ? 128 : 32
  const isPrefix = /^[1-9]\d*$/.test(prefix) && Number(prefix) <= bitsMax
  return isIP(host) !== 0 && isPrefix && rest.length === 0
}

function headerValue(text: string): string {
  if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(text)) throw new InvalidArgumentError('not a header value')
  return text
}

function address(text: string): string {
  if (!HEX_ADDRESS.test(text)) throw new InvalidArgumentError('not a 0x address')
  return text
}

function solanaAddress(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError('not 32 bytes in base58')
  return text
}

/** A Solana wallet file: the seed and the public key. */
function keyBytes(text: string): Uint8Array {
  const isWhole = /^\s*\[(\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]\s*$/.test(text)
  if (!isWhole) throw new InvalidArgumentError('not a list of 64 numbers')
  return Uint8Array.from(JSON.parse(text) as number[])
}

function key(text: string): string {
  if (!HEX_KEY.test(text)) throw new InvalidArgumentError('not a 0x private key of 32 bytes')
  return text
}
