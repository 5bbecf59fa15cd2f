import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import type { PostgresServer } from '../../../test/support/postgres.ts'
import {
  emptyDatabase,
  hasPostgres,
  inDatabase,
  postgresOfWorker,
} from '../../../test/support/postgres.ts'
import { describeLedger } from '../testing/ledger-contract.ts'
import { ledgerEntry as entry, NOW_MS } from '../testing/ledger-entry.ts'
import type { LedgerRetention } from './ledger.ts'
import { Postgres } from './postgres.ts'
import { PostgresLedger } from './postgres-ledger.ts'

const settings = { 'pay-to': '0xA' }

describe.skipIf(!hasPostgres)('over a server of its own', () => {
  let server: PostgresServer
  let url: string

  beforeAll(async () => {
    server = await postgresOfWorker()
    url = await server.createDatabase()
  })

  beforeEach(() => emptyDatabase(url))

  let gateways = 0

  async function joined(
    retention?: LedgerRetention,
    through = url,
  ): Promise<{ ledger: PostgresLedger; db: Postgres }> {
    gateways += 1
    const db = new Postgres({ url: through, applicationName: 'perpscope test' })
    const gateway = `gateway-${gateways}`
    const options = { db, clock: new ManualClock(), gateway, ...(retention && { retention }) }
    const ledger = await PostgresLedger.open(options)
    expect(await ledger.join(settings)).toEqual([])
    return { ledger, db }
  }

  /** Gateways over one database. */
  async function cluster(count: number) {
    const members: Awaited<ReturnType<typeof joined>>[] = []
    for (let member = 0; member < count; member += 1) members.push(await joined())
    onTestFinished(async () => {
      for (const { ledger, db } of members) {
        await ledger.close()
        await db.close()
      }
    })
    const [first, second] = members
    if (first === undefined || second === undefined) throw new Error('at least two')
    return { first, second, ledgers: members.map(({ ledger }) => ledger) }
  }

  /** The isolation of transactions that ask for none. */
  async function isolated(level: string): Promise<void> {
    const database = new URL(url).pathname.slice(1)
    const change = (to: string) => inDatabase(url, `ALTER DATABASE ${database} ${to}`)
    await change(`SET default_transaction_isolation = '${level}'`)
    onTestFinished(() => change('RESET default_transaction_isolation'))
  }

  /** As 15 s without a heartbeat do. */
  async function endGateways({ db }: { readonly db: Postgres }): Promise<void> {
    await db.query(`UPDATE perpscope.gateways SET seen = now() - interval '16 s'`)
  }

  describeLedger('PostgreSQL', async () => {
    const dbs: Postgres[] = []
    return {
      open: async (retention) => {
        const { ledger, db } = await joined(retention)
        dbs.push(db)
        return ledger
      },
      damageAnswer: async () => {
        const [db] = dbs
        await db?.query(`UPDATE perpscope.answers SET body = set_byte(body, 0, 65)`)
      },
      finalityOf: async (nonce) => {
        const [row] =
          (await dbs
            .at(-1)
            ?.query<{ finality: string }>(
              'SELECT finality FROM perpscope.payments WHERE nonce = $1',
              [nonce],
            )) ?? []
        return row?.finality
      },
      remove: async () => {
        for (const db of dbs) await db.close()
      },
    }
  })

  describe('several gateways', () => {
    test('begin 200 payments of which each comes four times over two of them once', async () => {
      const { ledgers } = await cluster(2)
      const kinds: (string | undefined)[] = []
      // Twice as many at a time as both pools have connections: of all 800, some would wait longer than the 3 s allowed.
      for (let from = 0; from < 200; from += 10) {
        const nonces = Array.from({ length: 10 }, (_, index) => `0x${from + index}`)
        const copies = nonces.flatMap((nonce) =>
          [0, 1, 0, 1].map(async (index) => {
            const identifier = `order-${nonce}`
            const begun = await ledgers[index]?.begin({ ...entry(nonce), identifier }, NOW_MS)
            return begun?.kind
          }),
        )
        kinds.push(...(await Promise.all(copies)))
      }
      expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(200)
      expect(kinds.filter((kind) => kind === 'taken')).toHaveLength(600)
    })

    test('give the answer of a purchase at another gateway', async () => {
      const { first, second } = await cluster(2)
      await first.ledger.begin(entry('0x1'), NOW_MS)
      await first.ledger.move(entry('0x1').key, 'settled', '0xabc', NOW_MS)
      expect(await second.ledger.find(entry('0x1').key)).toMatchObject({
        state: 'settled',
        answer: entry('0x1').answer,
      })
    })

    test.each(['read committed', 'repeatable read', 'serializable'])(
      'do not exceed the exposure together where the server reads %s',
      async (isolation) => {
        await isolated(isolation)
        const { ledgers } = await cluster(2)
        const exposure = { payerMax: 100_000n, totalMax: 250_000n }
        const begun = await Promise.all(
          // They take turns. More than both pools have connections would also wait for one, at most 3 s.
          Array.from({ length: 20 }, async (_, index) => {
            const one = entry(`0x${index}`)
            const key = { ...one.key, payer: `0xB${index % 4}` }
            const wanted = { ...one, key, finality: 'broadcast' as const, exposure }
            return ledgers[index % 2]?.begin(wanted, NOW_MS)
          }),
        )
        const granted = begun.filter(
          (each) => each?.kind === 'begun' && each.finality === 'broadcast',
        )
        expect(granted).toHaveLength(10)
        expect(await ledgers[0]?.exposure()).toBe(250_000n)
      },
    )

    test('never follow up one payment at once', async () => {
      const { first, ledgers } = await cluster(2)
      for (let index = 0; index < 20; index += 1) {
        await first.ledger.begin(entry(`0x${index}`), NOW_MS)
        await first.ledger.move(entry(`0x${index}`).key, 'unknown', null, NOW_MS)
      }
      // As many at a time as both pools have connections: more would also wait for one, at most 3 s.
      const reserve = () =>
        Promise.all(
          Array.from({ length: 20 }, (_, index) => ledgers[index % 2]?.nextOpen(NOW_MS, NOW_MS)),
        )
      const reserved = [...(await reserve()), ...(await reserve())]
      const nonces = reserved.flatMap((open) => (open ? [open.key.nonce] : []))
      expect(new Set(nonces).size).toBe(nonces.length)
      expect(nonces.length).toBe(20)
    })

    test('take over what a gateway was settling, once it has ended', async () => {
      const { first, second } = await cluster(2)
      const { key } = entry('0x1')
      await first.ledger.begin(entry('0x1'), NOW_MS)
      await second.ledger.interrupted()
      expect(await second.ledger.takeOver(key)).toBe(false)
      expect(await second.ledger.nextOpen(NOW_MS, NOW_MS)).toBeNull()
      await endGateways(first)
      expect(await second.ledger.writeFault(), 'it is alive').toBeNull()
      await second.ledger.interrupted()
      expect(await second.ledger.nextOpen(NOW_MS, NOW_MS)).toMatchObject({ state: 'unknown', key })
    })

    test('ignore the refusal of a gateway that froze, and believe that it was paid', async () => {
      const { first, second } = await cluster(2)
      const [one, two] = [entry('0x1'), entry('0x2')]
      for (const each of [one, two]) await first.ledger.begin(each, NOW_MS)
      await endGateways(first)
      await second.ledger.interrupted()
      for (const { key } of [one, two]) expect(await second.ledger.takeOver(key)).toBe(true)
      await first.ledger.move(one.key, 'released', null, NOW_MS)
      expect(await second.ledger.find(one.key)).toMatchObject({
        state: 'unknown',
        answer: one.answer,
      })
      await first.ledger.move(two.key, 'settled', '0xabc', NOW_MS)
      await second.ledger.move(two.key, 'released', null, NOW_MS)
      expect(await second.ledger.find(two.key)).toMatchObject({ state: 'settled' })
    })

    test('must agree on their settings, except with those that have ended', async () => {
      const { first } = await cluster(2)
      const db = new Postgres({ url, applicationName: 'perpscope test' })
      onTestFinished(() => db.close())
      const odd = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'odd' })
      const differences = await odd.join({ 'pay-to': '0xB' })
      expect(differences).toHaveLength(2)
      expect(differences[0]).toMatchObject({ setting: 'pay-to', own: '0xB', theirs: '0xA' })
      await endGateways(first)
      expect(await odd.join({ 'pay-to': '0xB' })).toEqual([])
      await odd.close()
    })

    test('are not alive after their end, also if a signal ends them while they join', async () => {
      const { first } = await cluster(2)
      const db = new Postgres({ url, applicationName: 'perpscope test' })
      onTestFinished(() => db.close())
      const late = await PostgresLedger.open({ db, clock: new ManualClock(), gateway: 'late' })
      // Open connections, so that a removal needs no other.
      await Promise.all([1, 2, 3].map(() => db.query('SELECT')))
      const { promise: done, resolve: begun } = Promise.withResolvers<unknown>()
      const held = first.db.transaction(async (query) => {
        // Its registration waits for the end of this one.
        await query(`INSERT INTO perpscope.gateways VALUES ('late', now(), '{}')`)
        const joined = late.join(settings)
        await expect
          .poll(() =>
            query(`SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted`),
          )
          .toHaveLength(1)
        begun(Promise.all([joined, late.close()]))
        // Time for a removal that does not wait.
        for (let roundTrips = 0; roundTrips < 50; roundTrips += 1) await query('SELECT')
        throw new Error('rolled back')
      })
      await expect(held).rejects.toThrow('rolled back')
      await done
      expect(await late.writeFault()).toBeNull()
      expect(await db.query(`SELECT id FROM perpscope.gateways WHERE id = 'late'`)).toEqual([])
    })
  })

  test('a begin whose reply is lost after its commit has begun', async () => {
    const proxy = await startProxy(server.port)
    onTestFinished(proxy.close)
    const through = url.replace(`:${server.port}`, `:${proxy.port}`)
    const { ledger, db } = await joined(undefined, through)
    onTestFinished(async () => {
      await ledger.close()
      await db.close()
    })
    proxy.cutNextReply()
    expect(await ledger.begin(entry('0x1'), NOW_MS)).toMatchObject({ kind: 'begun' })
    expect(proxy.cuts()).toBe(1)
    expect(await ledger.find(entry('0x1').key)).toMatchObject({ state: 'settling' })
    expect(await ledger.begin(entry('0x1'), NOW_MS)).toEqual({ kind: 'taken' })
  })

  test('a begin whose connection ends before its commit has not begun', async () => {
    const { ledger, db } = await joined()
    onTestFinished(async () => {
      await ledger.close()
      await db.close()
    })
    await db.query(`CREATE FUNCTION perpscope.cut() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
    await db.query(`CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON perpscope.payments
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION perpscope.cut()`)
    await expect(ledger.begin(entry('0x1'), NOW_MS)).rejects.toMatchObject({ code: 'ledger_busy' })
    await db.query('DROP TRIGGER cut ON perpscope.payments')
    expect(await ledger.find(entry('0x1').key)).toBeNull()
    expect(await ledger.begin(entry('0x1'), NOW_MS)).toMatchObject({ kind: 'begun' })
  })

  test('while the server is away nothing is written, and afterwards everything works', async () => {
    const { ledger, db } = await joined()
    onTestFinished(async () => {
      await ledger.close()
      await db.close()
    })
    await ledger.begin(entry('0x1'), NOW_MS)
    onTestFinished(() => server.start())
    await server.crash()
    await expect(ledger.find(entry('0x1').key)).rejects.toMatchObject({ code: 'ledger_busy' })
    await expect(ledger.begin(entry('0x2'), NOW_MS)).rejects.toMatchObject({ code: 'ledger_busy' })
    expect(await ledger.writeFault()).toContain('cannot be written')
    await server.start()
    expect(await ledger.writeFault()).toBeNull()
    expect(await ledger.find(entry('0x1').key)).toMatchObject({ state: 'settling' })
    expect(await ledger.begin(entry('0x2'), NOW_MS)).toMatchObject({ kind: 'begun' })
  })
})

/** A TCP proxy that can lose one reply of the server, with its connection. */
async function startProxy(target: number) {
  let isCutting = false
  let cuts = 0
  const proxy = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      if (!isCutting) return client.write(bytes)
      isCutting = false
      cuts += 1
      return client.destroy()
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  return {
    port,
    cutNextReply: () => {
      isCutting = true
    },
    cuts: () => cuts,
    close: () => {
      proxy.close()
    },
  }
}
