import { createClient } from '@redis/client'
import { afterEach, describe, expect, test } from 'vitest'
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
const SMALL_BUFFERS = ['client-output-buffer-limit pubsub 1mb 512kb 1']

describe.skipIf(redisBinary === null)('the link on a real broker', () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  const server = async (settings: readonly string[] = []): Promise<RedisServer> => {
    const started = await startRedis(settings)
    cleanups.push(() => started.close())
    return started
  }
  const engine = ({ url }: RedisServer, engineId: string, size = SMALL) => {
    const started = new LinkEngineProcess({ url, engineId, ...size })
    cleanups.push(() => started.end())
    return started
  }
  const gateway = (url: string) => {
    const started = new LinkGateway(url)
    cleanups.push(() => started.close())
    return started
  }
  const wait = (ms: number) => new Promise<void>((resolve) => systemClock.after(ms, resolve))

  /** A leader, a standby and a gateway that has every document. */
  const running = async (own: RedisServer) => {
    const leader = engine(own, 'one')
    await leader.leads()
    const standby = engine(own, 'two')
    await standby.starts()
    const reader = gateway(own.url)
    await reader.freshAfter(systemClock.nowMs(), COINS)
    return { leader, standby, reader }
  }

  /** No document went back in time, and the gateway equals the leader. */
  const expectEqual = async (reader: LinkGateway, leader: LinkEngineProcess) => {
    expect(reader.replica.older).toBe(0)
    const expected = await leader.finalDocuments()
    await expect.poll(() => reader.documents(COINS)).toEqual(expected)
  }

  // How soon is measured by `bench/cluster.ts`, on a machine that does nothing else.
  test('a gateway that is ready has all documents of 200 coins', async () => {
    const own = await server()
    await engine(own, 'one', LARGE).leads()
    const first = gateway(own.url)
    await first.freshAfter(0, LARGE.coins)
    const late = gateway(own.url)
    await until('the gateway is ready', async () => late.mirror.isReady)
    expect(late.documents(LARGE.coins)).toHaveLength(2_600)
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'a standby takes over after %s of the leader',
    async (signal) => {
      const own = await server()
      const { leader, standby, reader } = await running(own)
      leader.signal(signal)
      await reader.freshAfter(systemClock.nowMs(), COINS)
      await standby.leads()
      await expectEqual(reader, standby)
    },
  )

  test('a leader that is asked to end releases its lease, which does not run out', async () => {
    const own = await server(['notify-keyspace-events KEgx'])
    const { leader, standby } = await running(own)
    const watch = createClient({ url: own.url })
    cleanups.push(() => watch.destroy())
    await watch.connect()
    const ends: string[] = []
    for (const event of ['del', 'expired'])
      await watch.subscribe(`__keyevent@0__:${event}`, (key) => {
        if (key === KEYS.lease) ends.push(event)
      })
    leader.signal('SIGTERM')
    await standby.leads()
    await expect.poll(() => ends[0]).toBe('del')
  })

  test('a frozen leader that continues publishes nothing', async () => {
    const own = await server()
    const { leader, standby, reader } = await running(own)
    leader.signal('SIGSTOP')
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await standby.leads()
    const { epoch } = reader.mirror
    leader.signal('SIGCONT')
    await until('the former leader knows', async () => !leader.isLeading)
    await wait(1_000)
    expect(reader.mirror.epoch).toBe(epoch)
    await expectEqual(reader, standby)
  })

  test.each([300, 3_000])('a broker that restarts empty after %i ms', async (awayMs) => {
    const own = await server()
    const { leader, standby, reader } = await running(own)
    await own.kill()
    await wait(awayMs)
    const kept = reader.documents(COINS)
    expect(kept, 'documents stay while the broker is away').toHaveLength(40)
    await own.start()
    await reader.freshAfter(systemClock.nowMs(), COINS)
    const late = gateway(own.url)
    await late.freshAfter(systemClock.nowMs(), COINS)
    await until('one of them leads', async () => leader.isLeading || standby.isLeading)
    await expectEqual(reader, leader.isLeading ? leader : standby)
  })

  test.each([1_500, 8_000])('a gateway whose connections are silent for %i ms', async (heldMs) => {
    const own = await server(SMALL_BUFFERS)
    const { leader, reader } = await running(own)
    const proxy = new HeldProxy(own.port)
    cleanups.push(() => proxy.close())
    const behind = gateway(await proxy.listen())
    await behind.freshAfter(systemClock.nowMs(), COINS)
    proxy.hold()
    await wait(heldMs)
    // Another gateway goes on.
    await reader.freshAfter(systemClock.nowMs(), COINS)
    proxy.release()
    await behind.freshAfter(systemClock.nowMs(), COINS)
    await expectEqual(behind, leader)
  })

  test('an engine behind a silent connection is replaced, and comes back as standby', async () => {
    const own = await server()
    const proxy = new HeldProxy(own.port)
    cleanups.push(() => proxy.close())
    const url = await proxy.listen()
    const leader = engine({ ...own, url }, 'one')
    await leader.leads()
    const standby = engine(own, 'two')
    await standby.starts()
    const reader = gateway(own.url)
    await reader.freshAfter(systemClock.nowMs(), COINS)
    proxy.hold()
    await reader.freshAfter(systemClock.nowMs(), COINS)
    await until('the former leader knows', async () => !leader.isLeading)
    proxy.release()
    await wait(1_000)
    await expectEqual(reader, standby)
  })

  test('a slow gateway loses its connection, not its way', async () => {
    const own = await server(SMALL_BUFFERS)
    const leader = engine(own, 'one', LARGE)
    await leader.leads()
    const reader = gateway(own.url)
    const proxy = new HeldProxy(own.port)
    cleanups.push(() => proxy.close())
    const slow = gateway(await proxy.listen())
    await slow.freshAfter(systemClock.nowMs(), LARGE.coins)
    // 7.8 MB a second against a buffer of 1 MB: the broker closes the connection.
    proxy.hold()
    await wait(2_000)
    await reader.freshAfter(systemClock.nowMs(), LARGE.coins)
    proxy.release()
    await slow.freshAfter(systemClock.nowMs(), LARGE.coins)
    expect(slow.replica.older).toBe(0)
  })
})
