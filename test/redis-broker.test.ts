import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Lease, Publication } from '../src/link/broker/broker.ts'
import { RedisBroker } from '../src/link/broker/redis-broker.ts'
import { KEYS } from '../src/link/broker/scripts.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { ManualClock } from './support/manual-clock.ts'
import type { RedisServer } from './support/redis.ts'
import { redisBinary, startRedis } from './support/redis.ts'

/** No test waits for its end. */
const TTL_MS = 600_000

/** A publication that replaces everything of BTC; its text is in the place of a document. */
function whole(sequence: number, text: string, subject = 'BTC'): Publication {
  const documents = new Map([[`pulse/${subject}`, Buffer.from(text)]])
  return { subject, sequence, base: null, parts: { head: Buffer.from('head '), documents } }
}

describe.skipIf(redisBinary === null)('the broker on a real server', () => {
  const cleanups: (() => unknown)[] = []
  let server: RedisServer

  beforeAll(async () => {
    server = await startRedis()
  })

  beforeEach(() => withClient(server.url, (client) => client.flushAll()))

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  afterAll(() => server?.close())

  const connectedBroker = async (): Promise<RedisBroker> => {
    const broker = new RedisBroker({
      url: server.url.replace('redis:', 'valkey:'),
      // Nothing times out.
      clock: new ManualClock(),
      random: () => 0.5,
      onFailure: () => {},
    })
    cleanups.push(() => broker.close())
    await connected(broker)
    return broker
  }

  const leading = async (broker: RedisBroker, engineId = 'one'): Promise<Lease> => {
    const lease = await broker.acquire(engineId, TTL_MS)
    if (lease === null) throw new Error('the lease is held by another engine')
    return lease
  }

  const stored = async (broker: RedisBroker): Promise<readonly string[]> => {
    const frames: string[] = []
    await broker.snapshot((frame) => frames.push(Buffer.from(frame).toString()))
    return frames.toSorted()
  }

  test('one engine holds the lease until it releases it', async () => {
    const broker = await connectedBroker()
    const lease = await leading(broker)
    expect(await broker.acquire('other', TTL_MS)).toBeNull()
    expect(await broker.renew(lease, TTL_MS)).toBe(true)
    await broker.release(lease)
    expect(await broker.renew(lease, TTL_MS)).toBe(false)
    const next = await leading(broker, 'other')
    expect(next.epoch).toBeGreaterThan(lease.epoch)
    await broker.release(lease)
    expect(await broker.renew(next, TTL_MS), 'a lease of another engine is not released').toBe(true)
  })

  test('an epoch rises on a server that lost its data, and above a stored one of the future', async () => {
    const broker = await connectedBroker()
    const first = await leading(broker)
    await server.kill()
    await server.start()
    await connected(broker)
    const second = await leading(broker)
    expect(second.epoch).toBeGreaterThan(first.epoch)
    expect(Math.abs(second.epoch - systemClock.nowMs())).toBeLessThan(60_000)
    const future = second.epoch + 86_400_000
    await withClient(server.url, (client) => client.set(KEYS.epoch, String(future)))
    await broker.release(second)
    expect((await leading(broker)).epoch).toBe(future + 1)
  })

  test('a reordered publication changes nothing', async () => {
    const broker = await connectedBroker()
    const lease = await leading(broker)
    const publish = (sequence: number) => broker.publish(lease, whole(sequence, `${sequence}`))
    const outcomes = [await publish(9), await publish(10), await publish(9), await publish(10)]
    expect(outcomes).toEqual(['published', 'published', 'older', 'older'])
    expect(await stored(broker)).toEqual(['head 10'])
    await broker.release(lease)
    const next = await leading(broker, 'other')
    expect(await broker.publish(next, whole(1, 'next epoch'))).toBe('published')
    expect(await stored(broker)).toEqual(['head next epoch'])
  })

  test('a publication continues the stored one of its epoch, or changes nothing', async () => {
    const broker = await connectedBroker()
    const lease = await leading(broker)
    const received: string[] = []
    let isActive = false
    const subscription = broker.subscribe({
      onActive: () => {
        isActive = true
      },
      onFrame: (frame) => received.push(Buffer.from(frame).toString()),
    })
    cleanups.push(() => subscription.close())
    await expect.poll(() => isActive).toBe(true)
    const change = (sequence: number, base: number | null, all: Record<string, string>) => {
      const documents = Object.entries(all).map(([key, text]) => [key, Buffer.from(text)] as const)
      const parts = { head: Buffer.from(`${sequence}:`), documents: new Map(documents) }
      return { subject: 'BTC', sequence, base, parts }
    }
    const first = change(1, null, { 'pulse/BTC': 'p1', 'spread/BTC': 's1' })
    const second = change(2, 1, { 'spread/BTC': 's2' })
    expect(await broker.publish(lease, second), 'nothing is stored').toBe('incomplete')
    expect(await broker.publish(lease, first)).toBe('published')
    expect(await broker.publish(lease, second)).toBe('published')
    expect(await broker.publish(lease, change(4, 3, { 'pulse/BTC': 'p4' }))).toBe('incomplete')
    expect(await broker.publish(lease, change(4, 2, {}))).toBe('published')
    expect(await broker.publish(lease, change(3, 2, { 'pulse/BTC': 'p3' }))).toBe('older')
    const [frame = ''] = await stored(broker)
    expect(frame.slice(0, 2)).toBe('4:')
    expect([frame.slice(2, 4), frame.slice(4)].toSorted()).toEqual(['p1', 's2'])
    await expect.poll(() => received).toEqual(['1:p1s1', '2:s2', '4:'])
    await broker.release(lease)
    const next = await leading(broker, 'other')
    expect(await broker.publish(next, change(5, 4, {})), 'another epoch').toBe('incomplete')
    expect(await broker.publish(next, change(1, null, { 'pulse/BTC': 'q1' }))).toBe('published')
    expect(await stored(broker)).toEqual(['1:q1'])
  })

  test('one subject can be read alone', async () => {
    const broker = await connectedBroker()
    const lease = await leading(broker)
    for (const subject of ['*', 'BTC', 'kPEPE'])
      await broker.publish(lease, whole(1, subject, subject))
    const frames: string[] = []
    await broker.snapshot((frame) => frames.push(Buffer.from(frame).toString()), ['BTC', 'GONE'])
    expect(frames).toEqual(['head BTC'])
  })

  test('a former leader can do nothing', async () => {
    const broker = await connectedBroker()
    const former = await leading(broker)
    await broker.release(former)
    const next = await leading(broker, 'other')
    expect(await broker.publish(next, whole(1, 'frame'))).toBe('published')
    expect(await broker.publish(former, whole(2, 'frame'))).toBe('fenced')
    expect(await broker.send(former, Buffer.from('heartbeat'))).toBe(false)
    expect(await broker.retain(former, [])).toBe(false)
    expect(await stored(broker)).toEqual(['head frame'])
  })

  test('stored frames of other subjects are deleted', async () => {
    const broker = await connectedBroker()
    const lease = await leading(broker)
    for (const subject of ['*', 'BTC', 'kPEPE'])
      await broker.publish(lease, whole(1, subject, subject))
    expect(await broker.retain(lease, ['*', 'kPEPE', 'SOL'])).toBe(true)
    expect(await stored(broker)).toEqual(['head *', 'head kPEPE'])
    expect(await broker.publish(lease, whole(1, 'again'))).toBe('published')
  })

  test('a subscriber receives bytes as they were sent, also after a restart of the server', async () => {
    const broker = await connectedBroker()
    const received: Buffer[] = []
    let activations = 0
    const subscription = broker.subscribe({
      onActive: () => {
        activations += 1
      },
      onFrame: (frame) => received.push(Buffer.from(frame)),
    })
    cleanups.push(() => subscription.close())
    await expect.poll(() => activations).toBe(1)
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256)
    const lease = await leading(broker)
    const parts = { head: bytes, documents: new Map() }
    await broker.publish(lease, { subject: 'BTC', sequence: 1, base: null, parts })
    await broker.send(lease, Uint8Array.of(0, 255, 13, 10))
    await expect.poll(() => received.length).toBe(2)
    expect(received[0]?.equals(bytes)).toBe(true)
    expect(received[1]).toEqual(Buffer.of(0, 255, 13, 10))
    await server.kill()
    await server.start()
    await expect.poll(() => activations).toBe(2)
    await connected(broker)
    await broker.send(await leading(broker), Uint8Array.of(7))
    await expect.poll(() => received.length).toBe(3)
  })

  test('commands fail at once while the server is away', async () => {
    const broker = await connectedBroker()
    await server.kill()
    cleanups.push(() => server.start())
    await expect.poll(() => broker.acquire('one', TTL_MS).then(String, () => 'away')).toBe('away')
  })
})

async function connected(broker: RedisBroker): Promise<void> {
  await expect
    .poll(() =>
      broker
        .snapshot(() => {})
        .then(
          () => true,
          () => false,
        ),
    )
    .toBe(true)
}

async function withClient(url: string, use: (client: Client) => Promise<unknown>): Promise<void> {
  const client = createClient({ url })
  await client.connect()
  await use(client as Client)
  client.destroy()
}

type Client = ReturnType<typeof createClient>
