import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { ProofLog } from '../../domain/answer-proof.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import { keepProofs } from './proofs.ts'

test('the log is sealed at the start and by the timer, one sealing at a time', async () => {
  const clock = new ManualClock()
  const begun: PromiseWithResolvers<void>[] = []
  const store = {
    seal: () => {
      const sealing = Promise.withResolvers<void>()
      begun.push(sealing)
      return sealing.promise
    },
    add: async () => {},
  } as unknown as ProofLog
  const engine = { document: () => undefined } as unknown as EngineReader
  const log = pino({ level: 'silent' })
  const proofs = keepProofs(store, engine, { clock: clock as unknown as SteadyClock, log })
  proofs.onSold(Buffer.from('sold'))
  expect(begun, 'a sale never seals').toHaveLength(0)
  proofs.start?.()
  clock.advance(60_000)
  expect(begun).toHaveLength(1)
  begun[0]?.reject(new Error('PostgreSQL is away'))
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(15_000)
  expect(begun).toHaveLength(2)
  begun[1]?.resolve()
  await proofs.stop()
})
