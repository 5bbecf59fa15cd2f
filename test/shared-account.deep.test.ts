import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { OwnTurns, SharedTurns } from '../src/payment/evm/account-turns.ts'
import { base } from '../src/payment/evm/networks.ts'
import { nodeClient } from '../src/payment/evm/node-client.ts'
import { TransactionSender } from '../src/payment/evm/transaction-sender.ts'
import { Postgres } from '../src/payment/ledger/postgres.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { PostgresServer } from './support/postgres.ts'
import { hasPostgres, postgresOfWorker } from './support/postgres.ts'

const SENDERS = 3
const TRANSACTIONS = 20
const ACCOUNT = 'the gas account'

/** Gateways that settle with one key: two that use one nonce lose one of two transactions. */
describe.skipIf(!hasPostgres)('transactions of several gateways with one gas account', () => {
  let chain: EvmChain
  let server: PostgresServer
  let url: string

  beforeAll(async () => {
    server = await postgresOfWorker()
    url = await server.createDatabase()
    chain = await startEvmChain({ clock: systemClock })
  })

  afterAll(() => chain?.close())

  function database(): Postgres {
    const db = new Postgres({ url, applicationName: 'perpscope test' })
    onTestFinished(() => db.close())
    return db
  }

  test('all are accepted, with nonces without a gap', async () => {
    const { address, privateKey } = chain.accounts.facilitator
    const account = privateKeyToAccount(privateKey)
    const node = nodeClient(base, chain.rpcUrl)
    const before = await node.getTransactionCount({ address, blockTag: 'pending' })
    const senders = Array.from(
      { length: SENDERS },
      () => new TransactionSender(node, account, systemClock, new SharedTurns(database(), ACCOUNT)),
    )
    const signed: Hex[] = []
    const sent = await Promise.all(
      senders.flatMap((sender) =>
        Array.from({ length: TRANSACTIONS }, () =>
          sender.send(
            { to: address, data: '0x', gas: 21_000n },
            { untilMined: true, onSigned: (hash) => signed.push(hash) },
          ),
        ),
      ),
    )
    expect(new Set(sent.map(({ hash }) => hash)).size).toBe(SENDERS * TRANSACTIONS)
    expect(signed, 'none had to be signed twice').toHaveLength(SENDERS * TRANSACTIONS)
    const after = await node.getTransactionCount({ address, blockTag: 'pending' })
    expect(after - before).toBe(SENDERS * TRANSACTIONS)
  })

  test('a turn that ends with its gateway does not stop the others', async () => {
    const [mine, other] = [
      new SharedTurns(database(), ACCOUNT),
      new SharedTurns(database(), ACCOUNT),
    ]
    const ended = mine.run(async () => {
      await terminateHolder(database())
      return 'sent before the lock was lost'
    })
    expect(await ended).toBe('sent before the lock was lost')
    expect(await other.run(async () => 'next')).toBe('next')
  })

  test('a failed task fails its own turn only', async () => {
    const turns = new SharedTurns(database(), ACCOUNT)
    await expect(turns.run(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(await turns.run(async () => 'next')).toBe('next')
  })

  test('without PostgreSQL nothing is sent', async () => {
    const db = database()
    await db.close()
    let hasBegun = false
    const turn = new SharedTurns(db, ACCOUNT).run(async () => {
      hasBegun = true
    })
    await expect(turn).rejects.toMatchObject({ code: 'postgres_unavailable' })
    expect(hasBegun).toBe(false)
  })
})

test('turns of one process run one at a time, in order, past a failure', async () => {
  const turns = new OwnTurns()
  const order: string[] = []
  const task = (name: string) => async () => {
    order.push(`${name} begins`)
    await Promise.resolve()
    order.push(`${name} ends`)
    if (name === 'a') throw new Error('refused')
  }
  const [first] = await Promise.allSettled([turns.run(task('a')), turns.run(task('b'))])
  expect(first.status).toBe('rejected')
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

/** Ends the session that has the advisory lock, as PostgreSQL does with a session that is idle for too long. */
async function terminateHolder(db: Postgres): Promise<void> {
  await db.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  )
}
