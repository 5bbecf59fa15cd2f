import { Argument, Command } from 'commander'
import type { BackupOptions } from './config/backup.ts'
import { backupOptions, restoreOptions } from './config/backup.ts'
import type { BuyOptions } from './config/buy.ts'
import { BUY_HELP, buyOptions } from './config/buy.ts'
import { ConfigError } from './config/config-error.ts'
import type { DemoOptions } from './config/demo.ts'
import { demoOptions } from './config/demo.ts'
import type { DoctorOptions } from './config/doctor.ts'
import { doctorOptions } from './config/doctor.ts'
import { givenVariables, mayColor, version } from './config/environment.ts'
import type { IndicatorsOptions } from './config/indicators.ts'
import { indicatorsOptions } from './config/indicators.ts'
import type { LedgerOptions } from './config/ledger.ts'
import { ledgerOptions } from './config/ledger.ts'
import type { McpOptions } from './config/mcp.ts'
import { mcpOptions } from './config/mcp.ts'
import { shared } from './config/option.ts'
import type { RecordOptions } from './config/record.ts'
import { recordOptions } from './config/record.ts'
import type { ReplayOptions } from './config/replay.ts'
import { replayOptions } from './config/replay.ts'
import type { ServeOptions } from './config/serve.ts'
import { serveOptions } from './config/serve.ts'
import type { SimulateOptions } from './config/simulate.ts'
import { simulateOptions } from './config/simulate.ts'
import {
  EXIT_CODES,
  EXIT_USAGE,
  exitAfterUsage,
  UsageError,
  unknownVariables,
  variablesOf,
} from './config/usage.ts'
import { OperatingError } from './domain/errors.ts'
import { becomeLean } from './roles/lean-process.ts'

/** sysexits(3): what is wrong is the configuration, and a restart will not help. */
const EXIT_CONFIG = 78

const write = (text: string) => process.stdout.write(text)
const tell = (text: string) => process.stderr.write(text)
// A reader such as `head` may leave early; that is no failure.
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (cause.code === 'EPIPE') process.exit()
  throw cause
})

/** A command loads what it needs when it runs: the others' libraries would make every start slower. */
const program = new Command('perpscope')
  .description('Analytics for every perpetual on Hyperliquid, paid per call in USDC over x402.')
  .version(version)
  .exitOverride(exitAfterUsage)
  .addHelpText('after', EXIT_CODES)
  .hook('preAction', () => {
    for (const name of unknownVariables(givenVariables(), variablesOf(program)))
      tell(`perpscope: ${name} is no setting of version ${version}, and is ignored\n`)
  })

const serveCommand = program
  .command('serve')
  .description('run the service')
  .action(async (options: ServeOptions) => {
    becomeLean()
    await (await import('./roles/serve.ts')).serve(options)
  })
for (const option of serveOptions) serveCommand.addOption(option)

const simulateCommand = program
  .command('simulate')
  .description('run the simulated upstreams; the first line on standard output has their URLs')
  .action(async (options: SimulateOptions) => {
    const { simulate } = await import('./roles/simulate.ts')
    await simulate(options, write)
  })
for (const option of simulateOptions) simulateCommand.addOption(option)

const recordCommand = program
  .command('record')
  .description(
    'run an engine without a gateway and record everything that reaches it, until Ctrl-C',
  )
  .action(async (options: RecordOptions) => {
    const { record } = await import('./roles/record.ts')
    await record(options, write)
  })
for (const option of recordOptions) recordCommand.addOption(option)

const replayCommand = program
  .command('replay')
  .description('run a recording through the engine again, and compare what comes out')
  .argument('<file>', 'what perpscope record, or serve --record, has written')
  .action(async (file: string, options: ReplayOptions) => {
    const { replay } = await import('./roles/replay.ts')
    replay(file, options, { write, tell })
  })
for (const option of replayOptions) replayCommand.addOption(option)

const indicatorsCommand = program
  .command('indicators')
  .description('print the pulse indicators of a candle file, one JSON object a closed bar')
  .argument(
    '<file>',
    'candles, also gzipped: CSV with a header (timestamp or time or date,open,high,low,close,volume; other columns are ignored), an exchange archive without one, or the JSON of candleSnapshot; times in s, ms, µs or ISO 8601',
  )
  .action(async (file: string, options: IndicatorsOptions) => {
    const { printIndicators } = await import('./roles/indicators.ts')
    printIndicators(file, options, { write, warn: tell })
  })
for (const option of indicatorsOptions) indicatorsCommand.addOption(option)

program
  .command('maintenance')
  .description('turn the kill switch of a running service')
  .addArgument(new Argument('<state>').choices(['on', 'off']))
  .addOption(shared.adminPort())
  .action(async (state: string, { adminPort }: { adminPort: number }) => {
    const { setMaintenance } = await import('./roles/maintenance.ts')
    write(`${await setMaintenance(state === 'on', adminPort)}\n`)
  })

const buyCommand = program
  .command('buy')
  .description('make one call of a service from the shell, and pay for it after a confirmation')
  .argument(
    '<path>',
    'such as /pulse/BTC or /screener?top_n=10; free paths such as /coins just print',
  )
  .addHelpText('after', BUY_HELP)
  .action(async (path: string, options: BuyOptions) => {
    const { stdin, stdout, stderr } = process
    const { buy } = await import('./roles/buy.ts')
    process.exitCode = await buy(path, options, {
      write,
      tell,
      isPretty: stdout.isTTY,
      canAsk: stdin.isTTY && stderr.isTTY,
    })
  })
for (const option of buyOptions) buyCommand.addOption(option)

const mcpCommand = program
  .command('mcp')
  .description('offer the tools of a service to a desktop client over stdio, and pay for them')
  .action(async (options: McpOptions) => (await import('./roles/mcp.ts')).mcp(options, tell))
for (const option of mcpOptions) mcpCommand.addOption(option)

const backupCommand = program
  .command('backup')
  .description(
    'copy every file of the data directory to DIR, also while the service runs, and read it back',
  )
  .argument('<dir>', 'a folder that is new, empty, or the backup of before, which it replaces')
  .action(async (dir: string, options: BackupOptions) => {
    const { backup } = await import('./roles/backup.ts')
    await backup(dir, options, { write, progress: await progressOf(process.stderr) })
  })
for (const option of backupOptions) backupCommand.addOption(option)

const restoreCommand = program
  .command('restore')
  .description(
    'put a backup in the place of the data directory of a service that is ended; what was there is kept',
  )
  .argument('<dir>', 'what perpscope backup has made')
  .action(async (dir: string, options: BackupOptions) => {
    const { restore } = await import('./roles/restore.ts')
    await restore(dir, options, { write, progress: await progressOf(process.stderr) })
  })
for (const option of restoreOptions) restoreCommand.addOption(option)

const ledgerCommand = program
  .command('ledger')
  .description('print what was sold and what became of the money, also while the service runs')
  .action(async (options: LedgerOptions) => {
    const { ledger } = await import('./roles/ledger.ts')
    await ledger(options, { write, hasColor: mayColor(process.stdout) })
  })
for (const option of ledgerOptions) ledgerCommand.addOption(option)

const demoCommand = program
  .command('demo')
  .description('run all of it on this machine: venue, chains, service, and an agent that pays')
  .action(async (options: DemoOptions) => {
    const { requireLocalChains } = await import('./roles/local-chains.ts')
    await requireLocalChains()
    // It imports what may be absent.
    await (await import('./roles/demo.ts')).demo(options)
  })
for (const option of demoOptions) demoCommand.addOption(option)

const doctorCommand = program
  .command('doctor')
  .description('check what serve needs with the same options, one line each; 1 if anything fails')
  .action(async (options: DoctorOptions) => {
    const { stdout } = process
    const columns = stdout.isTTY ? stdout.columns : null
    const { doctor } = await import('./roles/doctor.ts')
    const isWell = await doctor(options, { columns, hasColor: mayColor(stdout) }, write)
    if (!isWell) process.exitCode = 1
  })
for (const option of doctorOptions) doctorCommand.addOption(option)

try {
  await program.parseAsync()
} catch (cause) {
  if (!isExpected(cause)) throw cause
  const why = cause.cause instanceof Error ? `: ${cause.cause.message}` : ''
  process.stderr.write(`perpscope: ${cause.message}${why}\n`)
  process.exitCode = exitCodeOf(cause)
}

function exitCodeOf(cause: Error): number {
  if (cause instanceof UsageError) return EXIT_USAGE
  return cause instanceof ConfigError ? EXIT_CONFIG : 1
}

async function progressOf(stream: NodeJS.WriteStream) {
  return (await import('./roles/backup/progress.ts')).terminalProgress(stream)
}

/** The operator's or the machine's, such as a busy port; anything else is a defect and shows its stack. */
function isExpected(cause: unknown): cause is Error {
  const isSystemError = cause instanceof Error && 'syscall' in cause
  const isOurs = [ConfigError, OperatingError, UsageError].some((kind) => cause instanceof kind)
  return isSystemError || isOurs
}
