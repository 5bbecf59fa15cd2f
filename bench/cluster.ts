/**
 * Engines, gateways, broker and ledger as separate processes with real servers, and what happens when one of them ends:
 * `npx tsx bench/cluster.ts`; needs `npm run build`, and `redis-server` or `valkey-server`. Lines whose server is
 * absent are skipped. `--quick` is small and fails on wrong results only, not on missed bars.
 */
import { loadavg } from 'node:os'
import Table from 'cli-table3'
import { redisBinary } from '../test/support/redis.ts'
import { fanOut } from './cluster-fan-out.ts'
import type { ClusterLine } from './cluster-line.ts'

const isQuick = process.argv.includes('--quick')
const lines: ClusterLine[] = []

if (redisBinary === null)
  console.log('skipped: neither valkey-server nor redis-server is installed')
else
  lines.push(...(await fanOut(isQuick ? { coins: 20, seconds: 3 } : { coins: 200, seconds: 20 })))

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
