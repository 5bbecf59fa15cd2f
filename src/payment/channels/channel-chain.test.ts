import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { base } from '../evm/networks.ts'
import type { ChannelChainOptions, ChannelDeposit } from './channel-chain.ts'
import { ChannelChain } from './channel-chain.ts'

test('a deposit is not sent where the database of failures is away', async () => {
  const away = () => Promise.reject(new Error('the database is away'))
  const options: ChannelChainOptions = {
    ...{ network: base, rpcUrl: 'http://127.0.0.1:1', clock: new ManualClock() },
    account: privateKeyToAccount(`0x${'1'.repeat(64)}`),
    sender: {} as never,
    payers: { barred: away, failed: away },
  }
  const wanted = { config: { payer: '0x1' } } as unknown as ChannelDeposit
  expect(await new ChannelChain(options).deposit(wanted)).toEqual({
    ...{ kind: 'unsent', reason: 'the database is away' },
  })
})
