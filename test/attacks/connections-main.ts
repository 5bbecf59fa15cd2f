import { attackConnections } from './connections.ts'

const PAID_CALLS = 15

// Child processes end with this process: see their `exit` handlers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await attackConnections(Number(process.argv[2] ?? PAID_CALLS), (report) =>
  process.stdout.write(`${JSON.stringify(report)}\n`),
)
