import { Command, InvalidArgumentError, Option } from 'commander'
import { runBackupKills } from './backup-kills.ts'

const SALES_MEASURED = 30

// Child processes end with this process: see their `exit` handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await new Command('backup-kills')
  .description(
    'Kills the built service while it sells and perpscope backup copies it, restores what was copied, and ' +
      'compares wallets with the ledger.',
  )
  .addOption(new Option('--seed <n>', 'when it is killed').argParser(wholeNumber).default(1))
  .addOption(
    new Option('--kills <n>', 'SIGKILLs of the service').argParser(wholeNumber).default(100),
  )
  .action(async ({ seed, kills }: { readonly seed: number; readonly kills: number }) => {
    const startedMs = performance.now()
    const result = await runBackupKills({
      seed,
      kills,
      sampleSales: SALES_MEASURED,
      onProgress: (killed) => void process.stderr.write(`\r${killed} of ${kills} kills  `),
    })
    process.stderr.write('\n')
    const seconds = Math.round((performance.now() - startedMs) / 1_000)
    process.stdout.write(`${JSON.stringify({ seed, seconds, ...result }, null, 2)}\n`)
    process.exitCode = result.violations.length === 0 ? 0 : 1
  })
  .parseAsync()

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be a whole number, 1 or more.')
  return value
}
