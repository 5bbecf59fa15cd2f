import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { FaultKind } from './fault-script.ts'
import { faultKinds } from './fault-script.ts'
import { LinkReport } from './link/link-report.ts'
import { simulateLink } from './link/link-simulation.ts'
import type { Outcome } from './outcome.ts'
import { outcomeOf, repeated } from './outcome.ts'
import { Report, violationLines } from './report.ts'
import type { SimulationOptions } from './simulation.ts'
import { simulate } from './simulation.ts'

/** Flag of the child processes that run seeds for this one. */
const WORKER = '--worker'
const MINUTES = 10
const FAULTS = 200
const WIDTH_MAX = 1_500

type Shape = {
  readonly minutes: number
  readonly faults: number
  readonly coins?: number
  readonly kinds?: readonly FaultKind[]
}

type Seeds = { readonly from: number; readonly seeds?: number; readonly workers: number }

if (process.argv.includes(WORKER)) work()
else await command().parseAsync()

function command(): Command {
  return new Command('simulate')
    .description('Run the service against a faulty simulated venue, in virtual time.')
    .addOption(new Option('--seed <n>', 'run one seed and print its events').argParser(wholeNumber))
    .addOption(new Option('--seeds <n>', 'number of seeds').argParser(wholeNumber))
    .addOption(
      new Option('--workers <n>', 'number of processes')
        .argParser(wholeNumber)
        .default(availableParallelism()),
    )
    .addOption(new Option('--from <seed>', 'the first seed').argParser(wholeNumber).default(1))
    .addOption(
      new Option('--minutes <n>', 'virtual minutes in which faults begin')
        .argParser(wholeNumber)
        .default(MINUTES),
    )
    .addOption(new Option('--faults <n>', 'faults of a run').argParser(wholeNumber).default(FAULTS))
    .addOption(new Option('--coins <n>', 'only so many of the twenty coins').argParser(wholeNumber))
    .addOption(
      new Option(
        '--kinds <names>',
        `only these faults, separated by commas: ${faultKinds.join(', ')}`,
      ).argParser(kindsFrom),
    )
    .addOption(
      new Option('--link', 'the link between engines, broker and gateways instead of the service'),
    )
    .action(async (given: Shape & Seeds & { seed?: number; link?: boolean }) => {
      const { minutes, faults, coins, kinds, seed, seeds = 1, from, workers } = given
      if (given.link === true) {
        const failed = await links(seed === undefined ? { from, seeds } : { from: seed, seeds: 1 })
        process.exitCode = failed === 0 ? 0 : 1
        return
      }
      const shape = {
        ...{ minutes, faults },
        ...(coins !== undefined && { coins }),
        ...(kinds !== undefined && { kinds }),
      }
      const failed =
        seed === undefined ? await many({ from, seeds, workers }, shape) : one({ seed, ...shape })
      process.exitCode = failed === 0 ? 0 : 1
    })
}

/** @returns the number of kinds of violations. */
function one(options: SimulationOptions): number {
  const startedMs = performance.now()
  const first = simulate({
    ...options,
    onStory: (atMs, text) => print(`${new Date(atMs).toISOString()} ${text}`),
  })
  const runMs = performance.now() - startedMs
  const result = repeated(first, options)
  const report = new Report((seed) => commandFor(seed, options))
  report.add({ result, runMs })
  print('')
  for (const line of report.lines()) print(line)
  const later = result.violations.slice(0, WIDTH_MAX)
  if (later.length > 0) print('\nall of them')
  for (const violation of later) {
    print(`${violation.checker}: ${violation.what}`)
    for (const line of violationLines(violation)) print(`  ${line}`)
  }
  return Object.keys(result.counts).length
}

/** @returns the number of seeds with violations. */
async function many({ from, seeds, workers }: Required<Seeds>, shape: Shape): Promise<number> {
  const report = new Report((seed) => commandFor(seed, shape))
  const startedMs = performance.now()
  let next = from
  const worker = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(import.meta.filename, [WORKER])
      const assign = () => {
        if (next >= from + seeds) {
          child.disconnect()
          return
        }
        child.send({ seed: next, ...shape } satisfies SimulationOptions)
        next += 1
      }
      child.on('message', (outcome: Outcome) => {
        report.add(outcome)
        progress(report, seeds, performance.now() - startedMs)
        assign()
      })
      child.on('error', reject)
      child.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
      )
      assign()
    })
  await Promise.all(Array.from({ length: Math.min(Math.max(1, workers), seeds) }, worker))
  process.stderr.write('\n')
  for (const line of report.lines()) print(line)
  return report.failed
}

/** A single seed prints its events. @returns the number of seeds with violations. */
async function links({ from, seeds }: { from: number; seeds: number }): Promise<number> {
  const report = new LinkReport()
  const story = (atMs: number, text: string) => print(`${new Date(atMs).toISOString()} ${text}`)
  for (let seed = from; seed < from + seeds; seed += 1)
    report.add(await simulateLink({ seed, ...(seeds === 1 && { onStory: story }) }))
  for (const line of report.lines()) print(line)
  return report.failed
}

/** Runs the seeds from the parent in sequence. */
function work(): void {
  process.on('message', (options: SimulationOptions) => {
    process.send?.(outcomeOf(options, () => performance.now()))
  })
}

function progress({ seeds: done, failed }: Report, seeds: number, elapsedMs: number): void {
  const leftS = ((elapsedMs / done) * (seeds - done)) / 1000
  process.stderr.write(
    `\r${done} of ${seeds} seeds, ${failed} with violations, ${leftS.toFixed(0)} s left  `,
  )
}

function commandFor(seed: number, { minutes, faults, coins, kinds }: Shape): string {
  const more = [
    minutes === MINUTES ? '' : ` --minutes ${minutes}`,
    faults === FAULTS ? '' : ` --faults ${faults}`,
    coins === undefined ? '' : ` --coins ${coins}`,
    kinds === undefined ? '' : ` --kinds ${kinds.join(',')}`,
  ].join('')
  return `npm run simulate -- --seed ${seed}${more}`
}

function print(line: string): void {
  process.stdout.write(`${line.length > WIDTH_MAX ? `${line.slice(0, WIDTH_MAX)}…` : line}\n`)
}

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError('It must be a whole number, 0 or more.')
  return value
}

function kindsFrom(text: string): readonly FaultKind[] {
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      const kind = faultKinds.find((known) => known === name)
      if (kind === undefined) throw new InvalidArgumentError(`There is no fault ${name}.`)
      return kind
    })
}
