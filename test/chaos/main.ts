import { Command, InvalidArgumentError, Option } from 'commander'
import { runChaos } from './chaos.ts'
import { reportOf } from './report.ts'

const PATIENCE_MS = 180_000
/** Share of short-lived payments, to include expiry; each takes over a minute. */
const SHORT_LIVED = 0.02

type Given = {
  readonly seed: number
  readonly payments: number
  readonly shortLived: number
  readonly kills: boolean
}

// Child processes end with this process: see their `exit` handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await new Command('chaos')
  .description(
    'Buyers who retry, facilitators that fail and a service that is killed, on a local chain: ' +
      'is everybody charged once for what they got, and for nothing else?',
  )
  .addOption(
    new Option('--seed <n>', 'what goes wrong, and when').argParser(wholeNumber).default(1),
  )
  .addOption(
    new Option('--payments <n>', 'how many things are bought')
      .argParser(wholeNumber)
      .default(2_500),
  )
  .addOption(
    new Option('--short-lived <share>', 'of payments that run out within seconds')
      .argParser(share)
      .default(SHORT_LIVED),
  )
  .addOption(new Option('--no-kills', 'let the service live'))
  .action(async ({ seed, payments, shortLived, kills }: Given) => {
    const startedMs = performance.now()
    const result = await runChaos({
      seed,
      purchases: payments,
      kills,
      shortLived,
      patienceMs: PATIENCE_MS,
      onProgress: ({ ended, requests, kills: killed }) =>
        void process.stderr.write(
          `\r${ended} of ${payments} purchases, ${requests} requests, ${killed} kills  `,
        ),
    })
    process.stderr.write('\n')
    const more = `${shortLived === SHORT_LIVED ? '' : ` --short-lived ${shortLived}`}${kills ? '' : ' --no-kills'}`
    const command = `npm run chaos -- --seed ${seed} --payments ${payments}${more}`
    const lines = reportOf(result, performance.now() - startedMs, command)
    for (const line of lines) process.stdout.write(`${line}\n`)
    process.exitCode = result.violations.length === 0 ? 0 : 1
  })
  .parseAsync()

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('It must be a whole number, 0 or more.')
  return value
}

function share(text: string): number {
  const value = Number(text)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must lie in 0 to 1.')
  return value
}
