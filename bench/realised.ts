/**
 * Realised liquidations: `node_modules/.bin/tsx bench/realised.ts`. A simulated venue in virtual time plants 10,000
 * liquidations and everything that looks like them, in 7 hours and in 80 minutes; its ledger is compared with what the
 * service reports. `--quick` plants a tenth.
 */
import Table from 'cli-table3'
import type { EnforcedTrade, Enforcement } from '../src/simulator/market/enforced-trades.ts'
import type { PlantedRun } from '../test/support/planted-liquidations.ts'
import { keyOf, plantedRun } from '../test/support/planted-liquidations.ts'

/** Of the venue's 1,200 a minute, for fills that may contain liquidations; and the most that one reply adds to a burst. */
const WEIGHT_MEAN_MAX = 110
const WEIGHT_MINUTE_MAX = 320
const FOUND_MIN = 0.95

type Scenario = {
  readonly name: string
  readonly coins: number
  readonly minutes: number
  /** Time to request what is waiting at the end. */
  readonly drainMinutes: number
}

const scenarios: readonly Scenario[] = process.argv.includes('--quick')
  ? [{ name: '40 coins, 40 minutes', coins: 40, minutes: 40, drainMinutes: 80 }]
  : [
      { name: '40 coins, 7 hours', coins: 40, minutes: 420, drainMinutes: 80 },
      {
        name: '150 coins, 80 minutes, read within 3 hours',
        coins: 150,
        minutes: 80,
        drainMinutes: 180,
      },
    ]
const decoys = ['unwinding', 'deleveraging', 'closing'] as const

function main(): void {
  const missed = scenarios.flatMap((scenario) => report(scenario))
  for (const bar of missed) console.log(`FAIL  ${bar}`)
  console.log(missed.length === 0 ? 'pass' : 'a bar was missed')
  if (missed.length > 0) process.exitCode = 1
}

/** @returns the bars that were missed */
function report({ name, coins, minutes, drainMinutes }: Scenario): readonly string[] {
  const run = plantedRun(coins, minutes, drainMinutes)
  const of = (trades: readonly EnforcedTrade[], kind: Enforcement) =>
    trades.filter(({ enforcement }) => enforcement === kind)
  const market = of(run.truth, 'market')
  const rows = [
    found('backstop', of(run.truth, 'backstop'), run),
    found('market, followed accounts', market.filter(run.isFollowed), run),
    found(
      'market, other accounts',
      market.filter((trade) => !run.isFollowed(trade)),
      run,
    ),
    ...decoys.map((kind) => found(`decoy: ${kind}`, of(run.ledger, kind), run)),
  ]
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ['method', 'trades', 'reported', 'notional, USD', 'reported, %'],
  })
  for (const { label, trades, reported, usd, share } of rows)
    table.push([label, trades, reported, Math.round(usd), (100 * share).toFixed(3)])
  const weights = [...run.weights.values()]
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length
  const most = Math.max(...weights)
  const paused = run.notices.filter(({ kind }) => kind === 'paused').length
  console.log(`${name}: ${run.found.size} trades reported as liquidations`)
  console.log(table.toString())
  console.log(
    `weight a minute: mean ${mean.toFixed(1)}, most ${most}; refused by the venue: ${paused}`,
  )
  const [backstop, followed, , ...others] = rows
  const bars: readonly (readonly [string, boolean])[] = [
    ['100 % of the backstops', backstop?.reported === backstop?.trades],
    ['95 % of the notional of followed accounts', (followed?.share ?? 0) >= FOUND_MIN],
    ['none is false', others.every(({ reported }) => reported === 0) && isAllTrue(run)],
    ['the weight', mean <= WEIGHT_MEAN_MAX && most <= WEIGHT_MINUTE_MAX && paused === 0],
  ]
  return bars.flatMap(([bar, isMet]) => (isMet ? [] : [`${name}: ${bar}`]))
}

function found(label: string, trades: readonly EnforcedTrade[], run: PlantedRun) {
  const usdOf = (some: readonly EnforcedTrade[]) =>
    some.reduce((sum, { lots, markPrice }) => sum + (lots / 100) * markPrice, 0)
  const own = trades.filter((trade) => run.found.has(keyOf(trade, trade.id)))
  const usd = usdOf(trades)
  return { label, trades: trades.length, reported: own.length, usd, share: usdOf(own) / usd }
}

/** Every reported trade is a liquidation of the ledger, of its method. */
function isAllTrue({ ledger, found: reported }: PlantedRun): boolean {
  const kinds = new Map(ledger.map((trade) => [keyOf(trade, trade.id), trade.enforcement]))
  return [...reported].every(([key, { method }]) => kinds.get(key) === method)
}

main()
