import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Table from 'cli-table3'
import { pino } from 'pino'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { Engine } from '../src/engine/engine.ts'
import { synchronousRenderer } from '../src/engine/market-renderer.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { catalog } from '../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../src/simulator/market/seeded-market.ts'
import { venueCadences, venueLimits } from '../src/simulator/venue/limits.ts'
import { Venue } from '../src/simulator/venue/venue.ts'
import { Chance } from '../test/simulation/chance.ts'
import { Kernel } from '../test/simulation/kernel.ts'
import { Machine, withoutRealTimers } from '../test/simulation/machine.ts'
import { Network } from '../test/simulation/network.ts'

/**
 * Live heap after a full collection, hour by hour: an engine, the gateway's copy of its documents and the simulated
 * venue run for 24 hours of virtual time in one process.
 *
 * `tsx bench/memory-day.ts`; `--hours N`, `--coins N`; `--quick` an hour of two coins, without judging.
 */
const { values: given } = parseArgs({
  options: {
    hours: { type: 'string' },
    coins: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const HOURS = Number(given.hours ?? (given.quick ? 1 : 24))
const COINS = Number(given.coins ?? (given.quick ? 2 : 14))
/** Ring buffers and 24 h windows fill up during this share. */
const SETTLED_SHARE = 0.5
const LIVE_MIB_PER_HOUR_MAX = 0.25
const SEED = 11
const MINUTE_MS = 60_000
const MIB = 2 ** 20
/** A fixed start, so that the result does not depend on the date. */
const START_MS = Date.UTC(2026, 4, 1)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: object) => void
const folder = mkdtempSync(join(tmpdir(), 'perpscope-memory-day-'))
try {
  day()
} finally {
  rmSync(folder, { recursive: true })
}

function day(): void {
  const kernel = new Kernel(START_MS)
  const model = modelCoins(SEED, START_MS)
  const rows = catalog.filter(([, , , , , , isDelisted]) => isDelisted !== true).slice(0, COINS)
  const venue = new Venue({
    market: new CoinMarkets({
      clockShiftMs: 0,
      coins: rows.map((row) => model.ofCatalog(row)),
      newCoin: model.ofListing,
    }),
    clock: kernel.clock,
    limits: venueLimits,
    cadences: venueCadences,
  })
  const network = new Network({ kernel, venue, chance: new Chance(SEED, 'network'), tap: {} })
  const { clock, scheduler, ...process } = processOn(kernel)
  const replica = new EngineReplica({
    analysis: pulse.contract.id,
    view: pulse.contract.defaultView,
  })
  let documents = 0
  const engine = withoutRealTimers(() =>
    Engine.start(
      {
        venue: { wsUrl: 'ws://venue/ws', infoUrl: 'http://venue/info' },
        weightPerMinute: 1_000,
        dexes: [],
        dataDir: folder,
        version: '0.0.0',
      },
      {
        clock,
        log: pino({ level: 'silent' }),
        renderer: synchronousRenderer,
        runtime: {
          scheduler,
          random: new Chance(SEED, 'engine').next,
          connect: network.connectOf(process.process, 'here'),
          post: network.postOf(process.process, 'here'),
        },
      },
      (message) => {
        replica.apply(message, clock.nowMs())
        if (message.kind === 'documents') documents += message.documents.length
      },
    ),
  )
  const hours: number[] = []
  const startedAtMs = systemClock.nowMs()
  for (let minute = 1; minute <= HOURS * 60; minute += 1) {
    withoutRealTimers(() => kernel.runUntil(START_MS + minute * MINUTE_MS))
    if (minute % 60 > 0) continue
    hours.push(liveMib())
    const seconds = Math.round((systemClock.nowMs() - startedAtMs) / 1_000)
    globalThis.process.stderr.write(
      `hour ${hours.length}: ${hours.at(-1)?.toFixed(1)} MiB, ${seconds} s\n`,
    )
  }
  withoutRealTimers(() => engine.stop())
  report(hours, documents, replica.coins().length)
}

/** A simulated computer with one process. */
function processOn(kernel: Kernel) {
  const process = new Machine(kernel, new Chance(SEED, 'machine')).process((cause) => {
    throw cause
  })
  return { process, clock: process.clock, scheduler: process.scheduler }
}

function liveMib(): number {
  // Other kinds leave dead buffers to a thread that frees them later: 5 to 40 MiB at random.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MIB
}

function report(hours: readonly number[], documents: number, coins: number): void {
  const settled = hours.slice(Math.floor(hours.length * SETTLED_SHARE))
  const slope = slopeOf(settled)
  const isFlat = slope < LIVE_MIB_PER_HOUR_MAX
  const table = new Table({
    head: ['what', 'measured', 'bar', ''],
    style: { head: [], border: [] },
  })
  table.push(
    ['live after the first hour', `${hours[0]?.toFixed(1)} MiB`, '', ''],
    ['live at the end', `${hours.at(-1)?.toFixed(1)} MiB`, '', ''],
    [
      `slope of the last ${settled.length} h`,
      `${slope.toFixed(3)} MiB an hour`,
      `< ${LIVE_MIB_PER_HOUR_MAX}`,
      given.quick ? 'not judged' : isFlat ? 'met' : 'MISSED',
    ],
  )
  console.log(table.toString())
  console.log(
    `${hours.length} h of virtual time, ${coins} of ${COINS} coins answered, checksum ${documents} documents`,
  )
  if (coins < COINS || (!given.quick && !isFlat)) process.exitCode = 1
}

/** Least-squares slope per step. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  let [above, below] = [0, 0]
  for (const [at, value] of values.entries()) {
    above += (at - middle) * (value - mean)
    below += (at - middle) ** 2
  }
  return below === 0 ? 0 : above / below
}
