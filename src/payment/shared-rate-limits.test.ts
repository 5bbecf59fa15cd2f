import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { redisBinary, startRedis } from '../../test/support/redis.ts'
import { redisClient } from '../link/broker/redis-client.ts'
import type { RateLimit, RateLimits } from './rate-limit.ts'
import { sharedRateLimits } from './shared-rate-limits.ts'

const closing: (() => unknown)[] = []
/** A busy machine may answer late, so that only a test of the wait lets it end. */
const clock = new ManualClock()

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function redis() {
  const server = await startRedis()
  closing.push(() => server.close())
  return server
}

/** The limits of one gateway. */
async function gateway(url: string): Promise<RateLimits> {
  const client = redisClient(url, () => 0).on('error', () => undefined)
  await client.connect()
  closing.push(() => client.destroy())
  return sharedRateLimits({ client, clock })
}

/** A server in front of the broker that can stop to forward. */
async function stoppable(port: number): Promise<{ readonly url: string; stop(): void }> {
  const sockets: Socket[] = []
  const server: Server = createServer((caller) => {
    const broker = connect(port, '127.0.0.1')
    for (const socket of [caller, broker]) socket.on('error', () => undefined)
    caller.pipe(broker).pipe(caller)
    sockets.push(caller, broker)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has a port')
  return {
    url: `redis://127.0.0.1:${address.port}`,
    stop: () => {
      for (const socket of sockets) socket.pause().unpipe()
    },
  }
}

/** @returns how many of these calls are allowed, all begun at once */
async function allowedOf(calls: number, ...limits: readonly RateLimit[]): Promise<number> {
  const taken = Array.from({ length: calls }, (_, call) =>
    (limits[call % limits.length] as RateLimit).take('caller'),
  )
  return (await Promise.all(taken)).filter(({ allowed }) => allowed).length
}

describe.skipIf(redisBinary === null)('limits of two gateways', () => {
  test('allow exactly 300 of 1,000 calls at once', async () => {
    const { url } = await redis()
    const [one, two] = [await gateway(url), await gateway(url)].map((limits) => limits('ip', 300))
    expect(await allowedOf(1_000, one as RateLimit, two as RateLimit)).toBe(300)
  })

  test('allow exactly 300 of 1,000 calls one after another', async () => {
    const { url } = await redis()
    const [one, two] = [await gateway(url), await gateway(url)].map((limits) => limits('ip', 300))
    let allowed = 0
    for (let call = 0; call < 500; call += 1)
      allowed += await allowedOf(2, one as RateLimit, two as RateLimit)
    expect(allowed).toBe(300)
  })

  test('that do not wait at first exceed the limit by that share at most', async () => {
    const { url } = await redis()
    const [one, two] = [await gateway(url), await gateway(url)].map((limits) =>
      limits('ip', 300, 1 / 4),
    ) as [RateLimit, RateLimit]
    const allowed = await allowedOf(1_000, one, two)
    expect(allowed).toBeGreaterThanOrEqual(300)
    expect(allowed).toBeLessThanOrEqual(375)
    let later = 0
    for (let call = 0; call < 500; call += 1)
      for (const gateway of [one, two]) later += (await gateway.take('later')).allowed ? 1 : 0
    expect(later, 'one after another').toBe(300)
  })

  test('report the calls of a busy key together', async () => {
    const { url } = await redis()
    const client = redisClient(url, () => 0)
    await client.connect()
    closing.push(() => client.destroy())
    const counted = vi.spyOn(client, 'eval')
    const limit = sharedRateLimits({ client, clock })('ip', 300, 1 / 2)
    expect(await allowedOf(100, limit)).toBe(100)
    const other = (await gateway(url))('ip', 300)
    await expect
      .poll(async () => (await other.take('caller')).remaining, { message: 'all are counted' })
      .toBeLessThan(200)
    expect(counted.mock.calls.length, 'one report on its way, one of all others').toBeLessThan(10)
  })

  test('count by name and by key, and take a call back at both', async () => {
    const { url } = await redis()
    const [here, there] = [await gateway(url), await gateway(url)]
    const [one, two] = [here('wallet', 8), there('wallet', 8)]
    expect(await allowedOf(20, one, two)).toBe(8)
    expect(await there('ip', 8).take('caller')).toMatchObject({ allowed: true, remaining: 7 })
    expect(await two.take('another')).toMatchObject({ allowed: true, remaining: 7 })
    expect(await one.peek('caller')).toMatchObject({ allowed: false, remaining: 0 })
    const [first, second] = [here('small', 4), there('small', 4)]
    for (const _ of [1, 2, 3, 4]) await first.take('caller')
    await first.giveBack('caller')
    await expect.poll(() => second.take('caller')).toMatchObject({ allowed: true })
    expect(await first.take('caller')).toMatchObject({ allowed: false })
  })

  test('without a broker each keeps the limit alone, and continues together on its return', async () => {
    const server = await redis()
    const [one, two] = [await gateway(server.url), await gateway(server.url)].map((limits) =>
      limits('ip', 40),
    ) as [RateLimit, RateLimit]
    expect(await allowedOf(20, one, two)).toBe(20)
    await server.kill()
    expect(await allowedOf(100, one), 'from what it knows').toBeLessThanOrEqual(30)
    expect(await allowedOf(100, two)).toBeLessThanOrEqual(30)
    expect(await one.take('caller')).toMatchObject({ allowed: false })
    await server.start()
    const remaining = async () => {
      clock.advance(1_000)
      await one.take('shared')
      for (let call = 0; call < 12; call += 1) await two.take('shared')
      return (await one.take('shared')).remaining
    }
    await expect.poll(remaining, { message: 'a count by the broker alone' }).toBeLessThan(28)
  })

  test('that get no answer wait once, and not at all below the share', async () => {
    const server = await redis()
    const wire = await stoppable(server.port)
    const limit = (await gateway(wire.url))('ip', 400, 1 / 4)
    wire.stop()
    expect(await allowedOf(100, limit), 'without a wait').toBe(100)
    const waiting = allowedOf(1_000, limit)
    await setImmediate()
    clock.advance(500)
    expect(await waiting).toBe(300)
    expect(await limit.take('caller'), 'without another wait').toMatchObject({ allowed: false })
  })
})
