import { createClient } from '@redis/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { Lease } from '../src/link/broker/broker.ts'
import { RedisBroker } from '../src/link/broker/redis-broker.ts'
import { KEYS } from '../src/link/broker/scripts.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { RedisServer } from './support/redis.ts'
import { redisBinary, startRedis } from './support/redis.ts'

const TTL_MS = 3_000

describe.skipIf(redisBinary === null)('the broker on a real server', () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  const server = async (settings: readonly string[] = []): Promise<RedisServer> => {
    const started = await startRedis(settings)
    cleanups.push(() => started.close())
    return started
  }

  const brokerOf = async ({ url }: RedisServer): Promise<RedisBroker> => {
    const broker = new RedisBroker({
      url: url.replace('redis:', 'valkey:'),
      clock: systemClock,
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
    const broker = await brokerOf(await server())
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
    const own = await server()
    const broker = await brokerOf(own)
    const first = await leading(broker)
    await own.kill()
    await own.start()
    await connected(broker)
    const second = await leading(broker)
    expect(second.epoch).toBeGreaterThan(first.epoch)
    expect(Math.abs(second.epoch - systemClock.nowMs())).toBeLessThan(60_000)
    const future = second.epoch + 86_400_000
    await withClient(own.url, (client) => client.set(KEYS.epoch, String(future)))
    await broker.release(second)
    expect((await leading(broker)).epoch).toBe(future + 1)
  })

  test('a reordered publication changes nothing', async () => {
    const broker = await brokerOf(await server())
    const lease = await leading(broker)
    const publish = (sequence: number) =>
      broker.publish(lease, { subject: 'BTC', sequence, bytes: Buffer.from(`frame ${sequence}`) })
    const outcomes = [await publish(9), await publish(10), await publish(9), await publish(10)]
    expect(outcomes).toEqual(['published', 'published', 'older', 'older'])
    expect(await stored(broker)).toEqual(['frame 10'])
    await broker.release(lease)
    const next = await leading(broker, 'other')
    const frame = { subject: 'BTC', sequence: 1, bytes: Buffer.from('next epoch') }
    expect(await broker.publish(next, frame)).toBe('published')
    expect(await stored(broker)).toEqual(['next epoch'])
  })

  test('a former leader can do nothing', async () => {
    const broker = await brokerOf(await server())
    const former = await leading(broker)
    await broker.release(former)
    const next = await leading(broker, 'other')
    const frame = { subject: 'BTC', sequence: 1, bytes: Buffer.from('frame') }
    expect(await broker.publish(next, frame)).toBe('published')
    expect(await broker.publish(former, { ...frame, sequence: 2 })).toBe('fenced')
    expect(await broker.send(former, frame.bytes)).toBe(false)
    expect(await broker.retain(former, [])).toBe(false)
    expect(await stored(broker)).toEqual(['frame'])
  })

  test('stored frames of other subjects are deleted', async () => {
    const broker = await brokerOf(await server())
    const lease = await leading(broker)
    for (const subject of ['*', 'BTC', 'kPEPE'])
      await broker.publish(lease, { subject, sequence: 1, bytes: Buffer.from(subject) })
    expect(await broker.retain(lease, ['*', 'kPEPE', 'SOL'])).toBe(true)
    expect(await stored(broker)).toEqual(['*', 'kPEPE'])
    const again = { subject: 'BTC', sequence: 1, bytes: Buffer.from('again') }
    expect(await broker.publish(lease, again)).toBe('published')
  })

  test('a subscriber receives bytes as they were sent, also after a restart of the server', async () => {
    const own = await server()
    const broker = await brokerOf(own)
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
    await broker.publish(lease, { subject: 'BTC', sequence: 1, bytes })
    await broker.send(lease, Uint8Array.of(0, 255, 13, 10))
    await expect.poll(() => received.length).toBe(2)
    expect(received[0]?.equals(bytes)).toBe(true)
    expect(received[1]).toEqual(Buffer.of(0, 255, 13, 10))
    await own.kill()
    await own.start()
    await expect.poll(() => activations).toBe(2)
    await connected(broker)
    await broker.send(await leading(broker), Uint8Array.of(7))
    await expect.poll(() => received.length).toBe(3)
  })

  test('commands fail at once while the server is away', async () => {
    const own = await server()
    const broker = await brokerOf(own)
    await own.kill()
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
