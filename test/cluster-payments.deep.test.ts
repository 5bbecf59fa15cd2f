import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { Cluster, ClusterProcess } from './support/cluster.ts'
import { buildCluster, startEnded } from './support/cluster.ts'
import { buy, newPayment, PRICE } from './support/killed-sales.ts'
import type { PostgresServer } from './support/postgres.ts'
import { hasPostgres, inDatabase, postgresOfWorker } from './support/postgres.ts'
import { redisBinary } from './support/redis.ts'
import { fromElsewhere, mainMarketOnly, oneCoin, runCommand, until } from './support/service.ts'

/** Few, so that they and those above it fall within one minute on a busy machine. */
const QUOTES_PER_MINUTE = 40
const OTHER_PAYEE = `0x${'a1'.repeat(20)}`

/** Real processes over real servers: what one gateway begins, any other finishes. */
describe.skipIf(redisBinary === null || !hasPostgres)('two gateways that share a ledger', () => {
  let chain: EvmChain
  let postgres: PostgresServer
  let ledger: string
  let cluster: Cluster
  let one: ClusterProcess
  let other: ClusterProcess
  let flags: readonly string[]
  let key: Readonly<Record<string, string>>

  beforeAll(async () => {
    chain = await startEvmChain({ clock: systemClock })
    postgres = await postgresOfWorker()
    ledger = await postgres.createDatabase()
    flags = [
      ...['--ledger', ledger, '--pay-to', chain.accounts.merchant.address],
      ...['--rpc-url', chain.rpcUrl, '--public-url', 'https://perpscope.example'],
      ...['--quotes-per-address-per-minute', String(QUOTES_PER_MINUTE)],
      ...['--trust-proxy', 'loopback'],
    ]
    key = { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey }
    cluster = await buildCluster({
      ...{ engines: 1, coins: oneCoin, engineFlags: mainMarketOnly },
      ...{ gatewayFlags: flags, gatewayEnv: key },
    })
    for (const engine of cluster.engines) await engine.start()
    ;[one, other] = cluster.gateways as [ClusterProcess, ClusterProcess]
  })

  beforeEach(async () => {
    await Promise.all(cluster.gateways.map(startEnded))
    for (const gateway of cluster.gateways)
      await until('both gateways quote', async () => (await quote(gateway)).status === 402)
  })

  afterAll(async () => {
    await cluster?.close()
    await chain?.close()
  })

  /** Each from another address, because those of one are limited. */
  const quote = ({ url }: ClusterProcess) => fromElsewhere()(`${url}/pulse/BTC`)
  const received = () => chain.balanceOf(chain.accounts.merchant.address)
  const payments = (count: number) =>
    Promise.all(Array.from({ length: count }, () => newPayment({ chain })))

  test('copies of a payment at both at once get one answer, and it is paid once', async () => {
    const before = await received()
    const wallets = await payments(10)
    const answers = await Promise.all(
      wallets.map(async (payment) => {
        const replies = await Promise.all([one, other, one, other].map((at) => buy(at, payment)))
        expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
        return new Set(await Promise.all(replies.map((reply) => reply.text())))
      }),
    )
    expect(answers.map(({ size }) => size)).toEqual(wallets.map(() => 1))
    expect((await received()) - before).toBe(PRICE * BigInt(wallets.length))
  })

  test('what each of them sold is in one proof log, which both answer alike', async () => {
    const wallets = await payments(6)
    const bodies = await Promise.all(
      wallets.map(async (payment, at) => (await buy(at % 2 === 0 ? one : other, payment)).text()),
    )
    for (const body of bodies) {
      const path = `/proof/${createHash('sha256').update(body).digest('hex')}`
      const proven = async ({ url }: ClusterProcess) =>
        (await (await fetch(url + path)).json()) as { readonly state: string }
      await until('it is in the log', async () => (await proven(one)).state !== 'unknown')
      expect(await proven(one)).toMatchObject({ state: 'open', kind: 'answer' })
      expect(await proven(other)).toEqual(await proven(one))
    }
  })

  test('maintenance mode is that of both, and survives their restart', async () => {
    const [payment = ''] = await payments(1)
    onTestFinished(endMaintenance)
    const { code, errors } = await runCommand(['maintenance', 'on', '--ledger', ledger])
    expect(code, errors).toBe(0)
    for (const gateway of cluster.gateways)
      await until('it sells nothing', async () => (await quote(gateway)).status === 503)
    await other.stop()
    await other.start()
    await until('its documents are there', async () => (await fetch(`${other.url}/coins`)).ok)
    expect((await buy(other, payment)).status).toBe(503)
    await endMaintenance()
    for (const gateway of cluster.gateways)
      await until('it sells again', async () => (await quote(gateway)).status === 402)
  })

  test('without PostgreSQL nothing is charged, free paths go on, and it recovers by itself', async () => {
    const before = await received()
    const [payment = ''] = await payments(1)
    onTestFinished(() => postgres.start())
    await postgres.crash()
    const refused = await buy(one, payment)
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ charged: null, payment_reusable: true })
    expect((await fetch(`${one.url}/coins`)).status).toBe(200)
    await postgres.start()
    await until('the same payment buys', async () => (await buy(one, payment)).status === 200)
    expect((await received()) - before).toBe(PRICE)
  })

  test('a gateway with another payee does not start beside them', async () => {
    const { code, errors } = await runCommand(
      [
        ...['serve', '--role', 'gateway', '--source', cluster.source, ...flags],
        ...['--pay-to', OTHER_PAYEE, '--broker', cluster.broker.url],
        ...['--port', String(await freePort()), '--admin-port', String(await freePort())],
      ],
      { env: key },
    )
    expect(code).toBe(78)
    expect(errors).toMatch(/--pay-to/)
  })

  test('they count the quotes of an address together', async () => {
    const together = { quoted: QUOTES_PER_MINUTE, refused: 10 }
    let counted = { quoted: 0, refused: 0 }
    // A gateway that gets no answer of the broker within half a second decides alone.
    for (let tries = 0; tries < 3 && !isDeepStrictEqual(counted, together); tries += 1) {
      const speak = fromElsewhere()
      const statuses: number[] = []
      for (let call = 0; call < QUOTES_PER_MINUTE + 10; call += 1) {
        const { url } = call % 2 === 0 ? one : other
        statuses.push((await speak(`${url}/pulse/BTC`)).status)
      }
      const count = (wanted: number) => statuses.filter((status) => status === wanted).length
      counted = { quoted: count(402), refused: count(429) }
    }
    expect(counted).toEqual(together)
  })

  test('what a killed gateway sold or left open, the other one answers', async () => {
    const before = await received()
    const wallets = await payments(12)
    const calls = wallets.map((payment) => buy(one, payment))
    const ended = Promise.allSettled(calls)
    // The first payment is settled by itself, and then the others together.
    expect((await Promise.any(calls)).status, 'one was sold before').toBe(200)
    await one.stop('SIGKILL')
    await ended
    await endGateway(one)
    for (const payment of wallets)
      await until('the other one answers', async () => (await buy(other, payment)).status === 200)
    expect((await received()) - before).toBe(PRICE * BigInt(wallets.length))
  })

  async function endMaintenance(): Promise<void> {
    await fetch(`${one.adminUrl}/maintenance`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ on: false }),
    })
  }

  /** As 15 s without its heartbeat do. */
  const endGateway = ({ url }: ClusterProcess) =>
    inDatabase(
      ledger,
      `UPDATE perpscope.gateways SET seen = now() - interval '16 s' WHERE id LIKE '%:${new URL(url).port}-%'`,
    )
})
