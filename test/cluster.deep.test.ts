import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Cluster, ClusterProcess } from './support/cluster.ts'
import { buildCluster, metricOf, startEnded } from './support/cluster.ts'
import { redisBinary } from './support/redis.ts'
import { mainMarketOnly, oneCoin, runCommand, until } from './support/service.ts'

/** A paid call of a healthy service takes far less. */
const CALL_PERIOD_MS = 50

describe.skipIf(redisBinary === null)('two engines and two gateways', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await buildCluster({ coins: oneCoin, engineFlags: mainMarketOnly })
    await Promise.all(cluster.engines.map(startEnded))
    await Promise.all(cluster.gateways.map(startEnded))
  })

  afterAll(() => cluster?.close())

  /** Everything works, also after a test that ended an engine. @returns the engine that leads */
  const working = async (): Promise<ClusterProcess> => {
    await Promise.all(cluster.engines.map(startEnded))
    for (const { adminUrl } of cluster.engines)
      await until('both engines have BTC', async () => (await fetch(`${adminUrl}/readyz`)).ok)
    for (const { url } of cluster.gateways)
      await until('both gateways sell BTC', async () => (await fetch(`${url}/pulse/BTC`)).ok)
    return cluster.leader()
  }

  const answerOf = async ({ url }: ClusterProcess, path: string) => {
    const response = await fetch(url + path)
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      text: await response.text(),
    }
  }

  test('the gateways name an answer by the same entity tag', async () => {
    await working()
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
    await working()
    let health: { readonly mirror?: { readonly leader_epoch: number } } = {}
    // A leader that gets no processor for three seconds loses its lease.
    await until('it is the epoch of the engine that leads', async () => {
      const { text } = await answerOf(cluster.gateways[0] as ClusterProcess, '/health')
      health = JSON.parse(text)
      const epoch = await metricOf(await cluster.leader(), 'perpscope_engine_epoch')
      return health.mirror?.leader_epoch === epoch
    })
    expect(health).toMatchObject({
      engine: 'available',
      mirror: { ready: true, heartbeat_age_seconds: expect.any(Number) },
    })
  })

  test('an engine whose thread is restarted gives up the lead until it works again', async () => {
    const before = await working()
    expect((await fetch(`${before.adminUrl}/engine/restart`, { method: 'POST' })).status).toBe(202)
    await until('the other one leads', async () => (await cluster.leader()) !== before)
  })

  test('a gateway of another market refuses to start, and names the difference', async () => {
    await working()
    const { code, errors } = await runCommand([
      ...['serve', '--role', 'gateway', '--payment', 'open', '--broker', cluster.broker.url],
      ...['--source', 'live', '--port', '0', '--admin-port', '0'],
    ])
    expect(code).toBe(78)
    expect(errors).toContain(
      'the engine has --source at this machine, this gateway at api.hyperliquid.xyz',
    )
  })

  test('a leader that is stopped and continues finds that another one leads', async () => {
    const before = await working()
    onTestFinished(() => void before.signal('SIGCONT'))
    before.signal('SIGSTOP')
    await until('the other one leads', async () => (await cluster.leader()) !== before)
    before.signal('SIGCONT')
    await until(
      'it stands by',
      async () =>
        (await metricOf(before, 'perpscope_engine_leads', 1_000)) === 0 &&
        (await cluster.leader()) !== before,
    )
  })

  test('callers notice nothing when the leader is killed, and the standby leads', async () => {
    const before = await working()
    const statuses: number[] = []
    let isOver = false
    onTestFinished(() => {
      isOver = true
    })
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
  })

  test('a leader that is asked to end hands over', async () => {
    const before = await working()
    const ended = before.stop('SIGTERM')
    await until('the other one leads', async () => (await cluster.leader()) !== before)
    expect(await ended).toBe(0)
  })

  test('without a leader answers go on by their age, then the engine is unavailable', async () => {
    await working()
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
