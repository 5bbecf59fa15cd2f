import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Cluster, ClusterProcess } from './support/cluster.ts'
import { buildCluster, metricOf } from './support/cluster.ts'
import { redisBinary } from './support/redis.ts'
import { runCommand, until } from './support/service.ts'

/** A paid call of a healthy service takes far less. */
const CALL_PERIOD_MS = 50

describe.skipIf(redisBinary === null)('two engines and two gateways', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await buildCluster()
    const [first, second] = cluster.engines
    await first?.start()
    await until('the first engine leads', async () => (await cluster.leader()) === first)
    await second?.start()
    for (const gateway of cluster.gateways) await gateway.start()
    for (const engine of cluster.engines)
      await until(
        'both engines have BTC',
        async () => (await fetch(`${engine.adminUrl}/readyz`)).ok,
      )
    for (const gateway of cluster.gateways)
      await until(
        'both gateways sell BTC',
        async () => (await fetch(`${gateway.url}/pulse/BTC`)).ok,
      )
  })

  afterAll(() => cluster?.close())

  const answerOf = async ({ url }: ClusterProcess, path: string) => {
    const response = await fetch(url + path)
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      text: await response.text(),
    }
  }

  test('the gateways name an answer by the same entity tag', async () => {
    // A document that is rendered between the two calls has another one.
    await until('both give the same answer', async () => {
      const [one, two] = await Promise.all(
        cluster.gateways.map((gateway) => answerOf(gateway, '/pulse/BTC')),
      )
      expect(one).toMatchObject({ status: 200, etag: expect.any(String) })
      return one?.etag === two?.etag
    })
  })

  test('health names the leader and how fresh the documents are', async () => {
    const health = await answerOf(cluster.gateways[0] as ClusterProcess, '/health')
    expect(JSON.parse(health.text)).toMatchObject({
      engine: 'available',
      mirror: {
        ready: true,
        leader_epoch: await metricOf(await cluster.leader(), 'perpscope_engine_epoch'),
        heartbeat_age_seconds: expect.any(Number),
      },
    })
  })

  test('an engine whose thread is restarted gives up the lead until it works again', async () => {
    const before = await cluster.leader()
    for (const engine of cluster.engines)
      await until('both work', async () => (await fetch(`${engine.adminUrl}/readyz`)).ok)
    expect((await fetch(`${before.adminUrl}/engine/restart`, { method: 'POST' })).status).toBe(202)
    await until('the other one leads', async () => (await cluster.leader()) !== before)
  })

  test('callers notice nothing when the leader is killed, and the standby leads', async () => {
    const before = await cluster.leader()
    const statuses: number[] = []
    let isOver = false
    const calls = cluster.gateways.map(async (gateway) => {
      while (!isOver) {
        statuses.push((await answerOf(gateway, '/pulse/BTC')).status)
        await new Promise((resolve) => setTimeout(resolve, CALL_PERIOD_MS))
      }
    })
    await before.stop('SIGKILL')
    await until('the other one leads', async () => (await cluster.leader()) !== before)
    const leader = await cluster.leader()
    const epoch = await metricOf(leader, 'perpscope_engine_epoch')
    for (const gateway of cluster.gateways)
      await until(
        'the gateways follow it',
        async () => (await metricOf(gateway, 'perpscope_mirror_epoch')) === epoch,
      )
    isOver = true
    await Promise.all(calls)
    expect(new Set(statuses)).toEqual(new Set([200]))
    await before.start()
  })

  test('a leader that is asked to end hands over', async () => {
    const before = await cluster.leader()
    const other = cluster.engines.find((engine) => engine !== before)
    await until('the standby is ready', async () => (await fetch(`${other?.adminUrl}/readyz`)).ok)
    const ended = before.stop('SIGTERM')
    await until('the other one leads', async () => (await cluster.leader()) !== before)
    expect(await ended).toBe(0)
    await before.start()
  })

  test('a leader that is stopped and continues finds that another one leads', async () => {
    const before = await cluster.leader()
    before.signal('SIGSTOP')
    await until('the other one leads', async () => (await cluster.leader()) !== before)
    before.signal('SIGCONT')
    await until(
      'it stands by',
      async () => (await metricOf(before, 'perpscope_engine_leads', 1_000)) === 0,
    )
    expect(await cluster.leader()).not.toBe(before)
  })

  test('a gateway of another market refuses to start, and names the difference', async () => {
    const { code, errors } = await runCommand([
      ...['serve', '--role', 'gateway', '--payment', 'open', '--broker', cluster.broker.url],
      ...['--source', 'live', '--port', '0', '--admin-port', '0'],
    ])
    expect(code).toBe(78)
    expect(errors).toContain(
      'the engine has --source at this machine, this gateway at api.hyperliquid.xyz',
    )
  })

  test('without a leader answers go on by their age, then the engine is unavailable', async () => {
    for (const engine of cluster.engines) await engine.stop('SIGKILL')
    const gateway = cluster.gateways[0] as ClusterProcess
    const { status } = await answerOf(gateway, '/pulse/BTC')
    // Read after the answer: a busy machine may be late for both.
    const silentSeconds = await metricOf(gateway, 'perpscope_mirror_silent_seconds')
    expect([status, silentSeconds < 10]).not.toEqual([500, true])
    await until('the engine is unavailable', async () => {
      const { text } = await answerOf(gateway, '/health')
      return (JSON.parse(text) as { engine: string }).engine === 'unavailable'
    })
    expect(await answerOf(gateway, '/pulse/BTC')).toMatchObject({
      status: 500,
      text: expect.stringContaining('engine_unavailable'),
    })
    expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503)
  })
})
