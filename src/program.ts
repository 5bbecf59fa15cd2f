import { constants, setPriority } from 'node:os'
import type { Command } from 'commander'
import { Argument } from 'commander'
import type { BackupOptions } from './config/backup.ts'
import { backupOptions, restoreOptions } from './config/backup.ts'
import type { BuyOptions } from './config/buy.ts'
import { BUY_HELP, buyOptions } from './config/buy.ts'
import { ConfigError } from './config/config-error.ts'
import type { ConfigurationOptions } from './config/configuration.ts'
import { configurationOptions } from './config/configuration.ts'
import type { DemoOptions } from './config/demo.ts'
import { demoOptions } from './config/demo.ts'
import type { DoctorOptions } from './config/doctor.ts'
import { doctorOptions } from './config/doctor.ts'
import { effectiveConfiguration } from './config/effective.ts'
import { givenVariables, mayColor, version } from './config/environment.ts'
import type { IndicatorsOptions } from './config/indicators.ts'
import { indicatorsOptions } from './config/indicators.ts'
import type { InitOptions } from './config/init.ts'
import { initOptions } from './config/init.ts'
import type { LedgerOptions } from './config/ledger.ts'
import { LEDGER_ACTIONS, LEDGER_HELP, ledgerOptions } from './config/ledger.ts'
import type { MaintenanceOptions } from './config/maintenance.ts'
import { MAINTENANCE_COMMANDS, maintenanceOptions } from './config/maintenance.ts'
import type { McpOptions } from './config/mcp.ts'
import { MCP_HELP, mcpOptions } from './config/mcp.ts'
import type { SettingOption } from './config/option.ts'
import type { ProbeOptions } from './config/probe.ts'
import { probeOptions } from './config/probe.ts'
import type { RecordOptions } from './config/record.ts'
import { recordOptions } from './config/record.ts'
import type { ReplayOptions } from './config/replay.ts'
import { replayOptions } from './config/replay.ts'
import type { ServeOptions } from './config/serve.ts'
import { serveOptions } from './config/serve.ts'
import { givenTexts, SettingsCommand } from './config/settings-command.ts'
import type { SimulateOptions } from './config/simulate.ts'
import { simulateOptions } from './config/simulate.ts'
import type { TrackRecordOptions } from './config/track-record.ts'
import { trackRecordOptions } from './config/track-record.ts'
import { EXIT_CODES, exitAfterUsage, unknownVariables, variablesOf } from './config/usage.ts'
import { baseUrl, path } from './config/values.ts'
import type { VerifyOptions } from './config/verify.ts'
import { verifyOptions } from './config/verify.ts'
import { terminalText } from './domain/printable.ts'
import { becomeLean } from './roles/lean-process.ts'

/** To a terminal without what it could execute: files and services are printed, too. A program gets every byte. */
const write = (text: string) =>
  process.stdout.write(process.stdout.isTTY ? terminalText(text) : text)
const tell = (text: string) => process.stderr.write(terminalText(text))

const variables = givenVariables()
/** The commands with their options. `parseAsync` throws configuration errors; a usage error ends the process. */
export const program = new SettingsCommand('perpscope', { variables, fileOptions: serveOptions })
  .description('Analytics for every perpetual on Hyperliquid, paid per call in USDC over x402.')
  .version(version)
  .exitOverride(exitAfterUsage)
  .addHelpText('after', EXIT_CODES)
  .hook('preAction', (_program, command) => {
    // First, because the process that replaces this one repeats all that was printed before.
    if (command === serveCommand) becomeLean()
    return rejectProblems(command)
  })

/** @throws ConfigError naming everything that is wrong in variables and files, and with `serve` what is missing as well */
async function rejectProblems(command: Command): Promise<void> {
  if (!(command instanceof SettingsCommand)) return
  const unknown = unknownVariables(Object.keys(variables), variablesOf(program))
  for (const name of unknown.ignored)
    tell(`perpscope: ${name} is not a setting of version ${version} and is ignored\n`)
  const problems = [...unknown.problems, ...command.problems]
  if (problems.length === 0) return
  if (command === serveCommand) {
    const { serveProblems } = await import('./config/check-serve.ts')
    const missing = serveProblems(command.opts())
    // An option that could not be read is not missing.
    problems.push(
      ...missing.filter((text) => ![...command.unread].some((flag) => text.includes(flag))),
    )
  }
  throw new ConfigError(problems.join('\n'))
}

/** A command imports its role when it runs, so that no command loads the libraries of the others. */
function command(
  name: string,
  description: string,
  options: readonly SettingOption[],
): SettingsCommand {
  const added = program.command(name).description(description)
  for (const option of options) added.addOption(option)
  return added
}

const serveCommand = command('serve', 'run the service', serveOptions)
serveCommand.action(async (options: ServeOptions) => {
  await (await import('./roles/serve.ts')).serve(options, effectiveConfiguration(serveCommand))
})

command(
  'simulate',
  'run simulated venue and sources; the first line on standard output has their URLs',
  simulateOptions,
).action(async (options: SimulateOptions) => {
  if (options.chain !== undefined) {
    const { requireLocalChains } = await import('./roles/local-chains.ts')
    await requireLocalChains('simulate')
  }
  await (await import('./roles/simulate.ts')).simulate(options, write)
})

command(
  'record',
  'run an engine without a gateway and record its inputs, until Ctrl-C',
  recordOptions,
).action(async (options: RecordOptions) => {
  await (await import('./roles/record.ts')).record(options, write)
})

command(
  'replay',
  'replay a recording through the engine and compare the documents with the recorded ones',
  replayOptions,
)
  .argument('<file>', 'file of perpscope record or of serve --record')
  .action(async (file: string, options: ReplayOptions) => {
    ;(await import('./roles/replay.ts')).replay(file, options, { write, tell })
  })

command(
  'track-record',
  'run the engine over recorded candles or a recording and print what became of its claims',
  trackRecordOptions,
).action(async (options: TrackRecordOptions) => {
  await (await import('./roles/track-record.ts')).printTrackRecord(options, { write, tell })
})

command(
  'indicators',
  'print the pulse indicators of a candle file, one JSON object per closed bar',
  indicatorsOptions,
)
  .argument(
    '<file>',
    'candles, oldest or newest first, optionally gzipped: CSV with a header (timestamp, time or date, then open,high,low,close,volume; other columns are ignored), an exchange archive of 6, 7, 9 or 12 columns without a header, or JSON (a list of objects such as those of candleSnapshot, a list of lists, or one a line); times in s, ms, µs or ISO 8601',
  )
  .action(async (file: string, options: IndicatorsOptions) => {
    const { printIndicators } = await import('./roles/indicators.ts')
    const { systemClock } = await import('./roles/system-clock.ts')
    printIndicators(file, options, { write, warn: tell }, systemClock.nowMs())
  })

command(
  'maintenance',
  'enable, disable or show maintenance mode of a running service, or of all gateways of a ledger',
  maintenanceOptions,
)
  .addArgument(new Argument('<state>').choices(MAINTENANCE_COMMANDS))
  .action(async (state: (typeof MAINTENANCE_COMMANDS)[number], options: MaintenanceOptions) => {
    const { maintenanceCommand } = await import('./roles/maintenance.ts')
    write(`${await maintenanceCommand(state, options)}\n`)
  })

command('buy', 'make one call to a service and pay for it after confirmation', buyOptions)
  .argument(
    '<path>',
    'path such as /pulse/BTC or /screener?top_n=10; free paths such as /coins are printed',
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

command(
  'probe',
  'check a service from outside at an interval: health, a quote and, with a key, a purchase',
  probeOptions,
)
  .addArgument(new Argument('<url>', 'URL of the service').argParser(baseUrl))
  .action(async (url: string, options: ProbeOptions) => {
    const { probe } = await import('./roles/probe.ts')
    const isWell = await probe(url, options, { write, isPretty: process.stdout.isTTY })
    if (!isWell) process.exitCode = 1
  })

command(
  'verify',
  'check a bought answer (receipt, content, proof of sale, computed again from a recording) or a claim of the track record',
  verifyOptions,
)
  .argument(
    '<file>',
    'saved answer with its receipt, such as buy --json prints, or one claim; - for standard input',
  )
  .action(async (file: string, options: VerifyOptions) => {
    process.exitCode = await (await import('./roles/verify.ts')).verify(file, options, write)
  })

command(
  'mcp',
  'offer the tools of a service to a desktop client over stdio, and pay for the calls',
  mcpOptions,
)
  .addHelpText('after', MCP_HELP)
  .action(async (options: McpOptions) => {
    const code = await (await import('./roles/mcp.ts')).mcp(options, tell)
    // Retries of payments without an answer would keep the process running.
    process.stdout.write('', () => process.exit(code))
  })

command(
  'backup',
  'copy every file of the data directory to DIR and verify the copies; the service may run',
  backupOptions,
)
  .argument('<dir>', 'a new or empty folder, or an earlier backup, which is replaced', path)
  .action(async (dir: string, options: BackupOptions) => {
    const { backup } = await import('./roles/backup.ts')
    // The service has priority.
    setPriority(constants.priority.PRIORITY_LOW)
    await backup(dir, options, { write, progress: await progressOf(process.stderr) })
  })

command(
  'restore',
  'replace the data directory of a stopped service by a backup; the replaced files are kept',
  restoreOptions,
)
  .argument('<dir>', 'folder of perpscope backup', path)
  .action(async (dir: string, options: BackupOptions) => {
    const { restore } = await import('./roles/restore.ts')
    await restore(dir, options, { write, progress: await progressOf(process.stderr) })
  })

command('ledger', 'print sales and the state of their payments; the service may run', ledgerOptions)
  .addArgument(
    new Argument(
      '[action]',
      'reconcile compares the ledger with the transfers to the payee on chain; refunds lists paid calls that may have no ' +
        'answer; move copies ledger.db of a stopped service into PostgreSQL, checks the copy, and can be repeated',
    ).choices(LEDGER_ACTIONS),
  )
  .addHelpText('after', LEDGER_HELP)
  .action(async (action: (typeof LEDGER_ACTIONS)[number] | undefined, options: LedgerOptions) => {
    const screen = { write, hasColor: mayColor(process.stdout) }
    if (action === 'move') await (await import('./roles/ledger-move.ts')).move(options, write)
    else if (action === 'refunds')
      await (await import('./roles/ledger-refunds.ts')).refunds(options, screen)
    else if (action === 'reconcile') {
      const { reconcile } = await import('./roles/ledger-reconcile.ts')
      if (!(await reconcile(options, screen))) process.exitCode = 1
    } else await (await import('./roles/ledger.ts')).ledger(options, screen)
  })

command(
  'demo',
  'run venue, chains, service and a paying agent on this machine',
  demoOptions,
).action(async (options: DemoOptions) => {
  const { requireLocalChains } = await import('./roles/local-chains.ts')
  await requireLocalChains('demo')
  // It imports packages that may be missing.
  await (await import('./roles/demo.ts')).demo(options)
})

const doctorCommand = command(
  'doctor',
  'check what serve needs with the same options, one line per check; exit code 1 if one fails',
  doctorOptions,
)
doctorCommand.action(async (options: DoctorOptions) => {
  const { doctor } = await import('./roles/doctor.ts')
  if (!(await doctor(options, terminal(), write, doctorCommand.files))) process.exitCode = 1
})

const configCommand = command(
  'config',
  'print the options of serve with the same options, files and variables: value and origin of each',
  configurationOptions,
)
configCommand.action(async (options: ConfigurationOptions) => {
  const { printConfiguration } = await import('./roles/configuration.ts')
  printConfiguration(options, effectiveConfiguration(configCommand), terminal(), write)
})

const initCommand = command(
  'init',
  'write a first configuration file and run the doctor with it; on a terminal it asks for what no flag states',
  initOptions,
)
initCommand
  .argument('[file]', 'a new file', path, 'perpscope.toml')
  .action(async (file: string, options: InitOptions) => {
    const { stdin, stdout } = process
    const { init } = await import('./roles/init.ts')
    const canAsk = stdin.isTTY && stdout.isTTY
    process.exitCode = await init(file, options, givenTexts(initCommand), { write, canAsk })
  })

function terminal() {
  const { stdout } = process
  // A terminal can report 0 columns.
  return { columns: (stdout.isTTY && stdout.columns) || null, hasColor: mayColor(stdout) }
}

async function progressOf(stream: NodeJS.WriteStream) {
  return (await import('./roles/backup/progress.ts')).terminalProgress(stream)
}
