import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { KEYS } from '../src/link/broker/scripts.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { HeldProxy, LinkEngineProcess, LinkGateway } from './support/link-rig.ts'
import type { RedisServer } from './support/redis.ts'
import { redisBinary, startRedis } from './support/redis.ts'
import { until } from './support/service.ts'

const COINS = Array.from({ length: 20 }, (_, at) => `C${at}`)
const SMALL = { coins: COINS, documentsPerCoin: 2, documentBytes: 500, periodMs: 500 }
/** The documents of 200 coins as they are in production: 7.8 MB. */
const LARGE = {
  coins: Array.from({ length: 200 }, (_, at) => `C${at}`),
  documentsPerCoin: 13,
  documentBytes: 3_000,
  periodMs: 1_000,
}
/** The broker keeps less for a slow subscriber than the production setting, so that a test sees it cut one. */
const SMALL_BUFFERS = ['client-output-buffer-limit', 'pubsub 1mb 512kb 1'] as const

describe.skipIf(redisBinary === null)('the link on a real broker', () => {
  const cleanups: (() => unknown)[] = []
  let broker: RedisServer

  beforeAll(async () => {
    broker = await startRedis([SMALL_BUFFERS.join(' '), 'notify-keyspace-events KEgx'])
  })

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  afterAll(async () => {
    for (const engine of engines) await engine.end()
    await broker?.close()
  })

  const gateway = (url: string) => {
    const started = new LinkGateway(url)
    cleanups.push(() => started.close())
    return started
  }
  const proxyOf = ({ port }: RedisServer) => {
    const proxy = new HeldProxy(port)
    cleanups.push(() => proxy.close())
    return proxy
  }
  const wait = (ms: number) => new Promise<void>((resolve) => systemClock.after(ms, resolve))

  /** The engines at work on the shared broker; a test that ends one is followed by the start of another. */
  const engines = new Set<LinkEngineProcess>()
  let started = 0

  /** A leader, a standby and a gateway that has every document. */
  const running = async () => {
    while (engines.size < 2) {
      started += 1
      engines.add(new LinkEngineProcess({ url: broker.url, engineId: `${started}`, ...SMALL }))
    }
    for (const engine of engines) await engine.starts()
    const leaders = () => [...engines].filter(({ isLeading }) => isLeading)
    await until('one engine leads', async () => leaders().length === 1)
    const [leader] = leaders()
    const [standby] = [...engines].filter((engine) => engine !== leader)
    if (leader === undefined || standby === undefined) throw new Error('there are two')
    const reader = gateway(broker.url)
    await reader.freshAfter(systemClock.nowMs(), COINS)
    return { leader, standby, reader }
  }

  /** Ends an engine, which the next test replaces. */
  const ends = (engine: LinkEngineProcess, signal: 'SIGKILL' | 'SIGTERM') => {
    engines.delete(engine)
    cleanups.push(() => engine.end())
    engine.signal(signal)
  }

  /** The lease of a starved leader can run out, and the other one leads. */
  const leaderOf = async (...both: readonly LinkEngineProcess[]) => {
    await until('one of them leads', async () => both.some(({ isLeading }) => isLeading))
    return both.find(({ isLeading }) => isLeading) as LinkEngineProcess
  }

  /** No document went back in time, and the gateways equal the leader. */
  const expectEqual = async (leader: LinkEngineProcess, ...readers: readonly LinkGateway[]) => {
    cleanups.push(() => leader.continues())
    const expected = await leader.finalDocuments()
    for (const reader of readers) {
      expect(reader.replica.older).toBe(0)
      await expect.poll(() => reader.documents(COINS)).toEqual(expected)
    }
  }

  test('a standby takes over after the leader was killed', async () => {
    const { leader, standby, reader } = await running()
    ends(leader, 'SIGKILL')
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await standby.leads()
    await expectEqual(standby, reader)
  })

  test('a leader that is asked to end releases its lease, which does not run out, and a standby takes over', async () => {
    const { leader, standby, reader } = await running()
    const watch = createClient({ url: broker.url })
    cleanups.push(() => watch.destroy())
    await watch.connect()
    const released: string[] = []
    for (const event of ['del', 'expired'])
      await watch.subscribe(`__keyevent@0__:${event}`, (key) => {
        if (key === KEYS.lease) released.push(event)
      })
    const ending = await leaderOf(leader, standby)
    const heir = ending === leader ? standby : leader
    released.length = 0
    ends(ending, 'SIGTERM')
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await heir.leads()
    await expect.poll(() => released[0]).toBe('del')
    await expectEqual(heir, reader)
  })

  test('a frozen leader that continues publishes nothing', async () => {
    const { leader, standby, reader } = await running()
    cleanups.push(() => leader.signal('SIGCONT'))
    leader.signal('SIGSTOP')
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await standby.leads()
    leader.signal('SIGCONT')
    await until('the former leader knows', async () => !leader.isLeading)
    await wait(1_000)
    // The standby, unless it got no processor for longer than its lease.
    const current = await leaderOf(leader, standby)
    await expect.poll(() => reader.mirror.epoch).toBe(current.epoch)
    await expectEqual(current, reader)
  })

  test.each([300, 3_000])('a broker that restarts empty after %i ms', async (awayMs) => {
    const { leader, standby, reader } = await running()
    cleanups.push(() => broker.start())
    await broker.kill()
    await wait(awayMs)
    const kept = reader.documents(COINS)
    expect(kept, 'documents stay while the broker is away').toHaveLength(40)
    await broker.start()
    await reader.freshAfter(systemClock.nowMs(), COINS)
    const late = gateway(broker.url)
    await late.freshAfter(systemClock.nowMs(), COINS)
    await expectEqual(await leaderOf(leader, standby), reader)
  })

  test('gateways whose connections are silent, shortly and until they were replaced twice', async () => {
    const { leader, standby, reader } = await running()
    const held = async (silence: (behind: LinkGateway) => Promise<void>) => {
      const proxy = proxyOf(broker)
      const behind = gateway(await proxy.listen())
      await behind.freshAfter(systemClock.nowMs(), COINS)
      proxy.hold()
      await silence(behind)
      // Another gateway goes on.
      await reader.freshAfter(systemClock.nowMs(), COINS)
      proxy.release()
      await behind.freshAfter(systemClock.nowMs(), COINS)
      return behind
    }
    const behind = await Promise.all([
      held(() => wait(1_500)),
      held(async (one) => {
        const before = one.reconnections
        await until('it was replaced twice', async () => one.reconnections >= before + 2)
      }),
    ])
    await expectEqual(await leaderOf(leader, standby), ...behind)
  })

  test('an engine behind a silent connection is replaced, and comes back as standby', async () => {
    const own = await startRedis()
    cleanups.push(() => own.close())
    const engine = (url: string, engineId: string) => {
      const process = new LinkEngineProcess({ url, engineId, ...SMALL })
      cleanups.push(() => process.end())
      return process
    }
    const proxy = proxyOf(own)
    const leader = engine(await proxy.listen(), 'one')
    await leader.leads()
    const standby = engine(own.url, 'two')
    await standby.starts()
    const reader = gateway(own.url)
    await reader.freshAfter(systemClock.nowMs(), COINS)
    proxy.hold()
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await until('the former leader knows', async () => !leader.isLeading)
    proxy.release()
    await wait(1_000)
    await expectEqual(await leaderOf(leader, standby), reader)
  })
})

describe.skipIf(redisBinary === null)('the documents of 200 coins on a real broker', () => {
  let broker: RedisServer
  let leader: LinkEngineProcess

  beforeAll(async () => {
    broker = await startRedis()
    leader = new LinkEngineProcess({ url: broker.url, engineId: 'one', ...LARGE })
    await leader.leads()
  })

  afterAll(async () => {
    await leader?.end()
    await broker?.close()
  })

  const gateway = (url: string) => {
    const started = new LinkGateway(url)
    onTestFinished(() => started.close())
    return started
  }

  // How soon is measured by `bench/cluster.ts`, on a machine that does nothing else.
  test('a gateway that is ready has all of them', async () => {
    const first = gateway(broker.url)
    await first.freshAfter(0, LARGE.coins)
    const late = gateway(broker.url)
    await until('the gateway is ready', async () => late.mirror.isReady)
    expect(late.documents(LARGE.coins)).toHaveLength(2_600)
  })

  test('a slow gateway loses its connection, not its way', async () => {
    const operator = createClient({ url: broker.url })
    await operator.connect()
    onTestFinished(() => operator.destroy())
    const [limit] = SMALL_BUFFERS
    const before = await operator.configGet(limit)
    onTestFinished(async () => {
      await operator.configSet(before)
    })
    await operator.configSet(...SMALL_BUFFERS)
    const reader = gateway(broker.url)
    const proxy = new HeldProxy(broker.port)
    onTestFinished(() => proxy.close())
    const slow = gateway(await proxy.listen())
    await slow.freshAfter(systemClock.nowMs(), LARGE.coins)
    let ports: readonly number[] = []
    const isSubscribed = async () => {
      const subscribers = String(await operator.sendCommand(['CLIENT', 'LIST', 'TYPE', 'pubsub']))
      return ports.some((port) => subscribers.includes(` addr=127.0.0.1:${port} `))
    }
    // The broker may have cut this process as well, while it got no processor.
    await until('it is subscribed', async () => {
      ports = proxy.serverPorts()
      return isSubscribed()
    })
    // 7.8 MB a second against a buffer of 1 MB.
    proxy.hold()
    await until('the broker has closed the connection', async () => !(await isSubscribed()))
    await reader.freshAfter(systemClock.nowMs(), LARGE.coins)
    proxy.release()
    await slow.freshAfter(systemClock.nowMs(), LARGE.coins)
    expect(slow.replica.older).toBe(0)
  })
})
