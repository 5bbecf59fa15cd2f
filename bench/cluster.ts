/**
 * Engines, gateways, broker and ledger as separate processes with real servers, and what happens when one of them ends:
 * `npx tsx bench/cluster.ts`; needs `npm run build`, and `redis-server` or `valkey-server`. Lines whose server is
 * absent are skipped. `--quick` is small and fails on wrong results only, not on missed bars. `--only=` fan-out, takeover,
 * broker, sales or cpu measures that alone.
 */
import { loadavg } from 'node:os'
import Table from 'cli-table3'
import { hasPostgres } from '../test/support/postgres.ts'
import { redisBinary } from '../test/support/redis.ts'
import { brokerLines } from './cluster-broker.ts'
import { cpuLines } from './cluster-cpu.ts'
import { fanOutLines } from './cluster-fan-out.ts'
import type { ClusterLine } from './cluster-line.ts'
import { salesLines } from './cluster-sales.ts'
import { takeoverLines } from './cluster-takeover.ts'

const isQuick = process.argv.includes('--quick')
const chosen = process.argv.find((one) => one.startsWith('--only='))?.slice('--only='.length)
const size = isQuick
  ? {
      fanOut: { coins: 20, seconds: 3 },
      takeover: { coins: 20, documentBytes: 500 },
      sales: { races: 20, killedCalls: 20, ledgerAwayMs: 3_000 },
      broker: { awayMs: [300, 1_000], forGoodMs: 13_000 },
      cpu: { rounds: 1, warmUpReads: 100, reads: 300, warmUpSales: 10, sales: 30 },
    }
  : {
      fanOut: { coins: 200, seconds: 20 },
      takeover: { coins: 200, documentBytes: 3_000 },
      sales: { races: 500, killedCalls: 1_000, ledgerAwayMs: 10_000 },
      broker: { awayMs: [300, 3_000], forGoodMs: 20_000 },
      cpu: { rounds: 7, warmUpReads: 100_000, reads: 30_000, warmUpSales: 300, sales: 150 },
    }
const lines: ClusterLine[] = []

const groups: Readonly<Record<string, () => AsyncGenerator<ClusterLine>>> = {
  'fan-out': () => fanOutLines(size.fanOut),
  takeover: () => takeoverLines(size.takeover),
  ...(hasPostgres && {
    broker: () => brokerLines(size.broker),
    sales: () => salesLines(size.sales),
    cpu: () => cpuLines(size.cpu),
  }),
}

if (redisBinary === null)
  console.log('skipped: neither valkey-server nor redis-server is installed')
else {
  if (!hasPostgres) console.log('what is sold is skipped: PostgreSQL is not installed')
  for (const [name, measured] of Object.entries(groups))
    if (chosen === undefined || chosen === name) await measure(measured())
}

const table = new Table({ head: ['line', 'measured', 'bar', ''], style: { head: [], border: [] } })
for (const { what, measured, bar, isMet } of lines)
  table.push([what, measured, bar, isMet === null || isQuick ? '' : isMet ? 'met' : 'MISSED'])
if (lines.length > 0) console.log(table.toString())
console.log(
  `load of the machine at the end: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
)
if (lines.some(({ isMet, isWrong }) => isWrong || (!isQuick && isMet === false)))
  process.exitCode = 1

async function measure(measured: AsyncGenerator<ClusterLine>): Promise<void> {
  for await (const line of measured) {
    lines.push(line)
    process.stderr.write(`${line.what}: ${line.measured}\n`)
  }
}
