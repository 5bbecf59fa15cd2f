import { expect, test } from 'vitest'
import { attackConnections } from './connections.ts'

const PAID_CALLS = 3
/** Tolerance for a busy machine in a median of three. */
const NOISE_MS = 1_000

test('a flood from one address leaves an honest buyer its sales', async () => {
  const reports = await attackConnections(PAID_CALLS, (report) =>
    process.stdout.write(`${JSON.stringify(report)}\n`),
  )
  for (const { attack, sold, paidCalls, idleMs, attackedMs } of reports) {
    expect(sold, attack).toBe(paidCalls)
    expect(attackedMs, attack).toBeLessThan(2 * idleMs + NOISE_MS)
  }
  const [held, , batches] = reports
  expect(held, 'the other connections are refused').toMatchObject({ answered: 128, refused: 872 })
  expect(batches, 'no batch is worked for').toMatchObject({ answered: 0 })
})
