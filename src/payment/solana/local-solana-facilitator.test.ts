import { expect, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { StoredFailedSettlements } from '../stored-failed-settlements.ts'
import type { ExactSolanaPayment } from './exact-solana.ts'
import { readFeePayer } from './fee-payer-key.ts'
import { localSolanaFacilitator } from './local-solana-facilitator.ts'
import { solanaMainnet } from './networks.ts'

test('nothing was sent where the database of failures is away', async () => {
  const failures = StoredFailedSettlements.inMemory()
  vi.spyOn(failures, 'isBarred').mockRejectedValue(new Error('the database is away'))
  const facilitator = localSolanaFacilitator({
    ...{ rpcUrl: 'http://127.0.0.1:1', clock: new ManualClock(), failures },
    feePayer: readFeePayer(JSON.stringify(Array(32).fill(1))),
  })
  const payment = { payer: 'buyer', chain: solanaMainnet } as unknown as ExactSolanaPayment
  expect(await facilitator.settle(payment)).toEqual({
    ...{ kind: 'unreachable', reason: 'the database is away' },
  })
})
