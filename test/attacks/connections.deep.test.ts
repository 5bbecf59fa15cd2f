import { expect, test } from 'vitest'
import { attackConnections, NOISE_MS } from './connections.ts'
import { limitOf } from './recovery.ts'

const PAID_CALLS = 3

test('a flood from one address leaves an honest buyer its sales', async () => {
  const reports = await attackConnections(PAID_CALLS, (report) =>
    process.stdout.write(`${JSON.stringify(report)}\n`),
  )
  for (const { attack, sold, paidCalls, idleMs, attackedMs, recovered } of reports) {
    expect(sold, attack).toBe(paidCalls)
    expect(attackedMs, attack).toBeLessThan(limitOf(idleMs, NOISE_MS))
    expect(recovered, attack).toBe(true)
  }
  const [held, , batches] = reports
  expect(held, 'the other connections are refused').toMatchObject({ answered: 128, refused: 872 })
  expect(batches, 'no batch is worked for').toMatchObject({ answered: 0 })
})
