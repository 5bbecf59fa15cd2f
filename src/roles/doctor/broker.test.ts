import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RedisServer } from '../../../test/support/redis.ts'
import { redisBinary, startRedis } from '../../../test/support/redis.ts'
import { redisClient } from '../../link/broker/redis-client.ts'
import { KEYS } from '../../link/broker/scripts.ts'
import { checkBroker } from './broker.ts'

const SECRET = 'secret-of-the-broker'

test('a process without a broker has no finding', async () => {
  expect(await checkBroker(undefined)).toBeNull()
})

describe.skipIf(redisBinary === null)('the check of a broker', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.close())

  const run = async (url: string, ...command: string[]) => {
    const client = redisClient(url, Math.random)
    await client.connect()
    await client.sendCommand(command)
    client.destroy()
  }

  test('names version, round trip, memory and whether an engine leads, and changes nothing', async () => {
    await run(server.url, 'SET', KEYS.lease, '1:engine')
    expect(await checkBroker(server.url)).toEqual({
      ...{ check: 'broker', status: 'ok', advice: null },
      found: expect.stringMatching(
        /^(Redis|Valkey) \d+\.\d+\.\d+, round trip \d+\.\d ms, no password, an engine leads, \d+\.\d MiB used, no limit$/,
      ),
    })
    await run(server.url, 'DEL', KEYS.lease)
    expect((await checkBroker(server.url))?.found).toContain('no engine leads')
  })

  test('finds what evicts documents, and too little memory', async () => {
    const small = await startRedis(['maxmemory 64mb', 'maxmemory-policy allkeys-lru'])
    onTestFinished(() => small.close())
    const finding = await checkBroker(small.url)
    expect(finding).toMatchObject({ status: 'warn', found: expect.stringContaining('of 64 MiB') })
    expect(finding?.advice).toMatch(/noeviction.*; set maxmemory to 160 MiB/)
  })

  test('finds a replica, which refuses writes', async () => {
    const replica = await startRedis([`replicaof 127.0.0.1 ${server.port}`])
    onTestFinished(() => replica.close())
    expect(await checkBroker(replica.url)).toMatchObject({
      status: 'fail',
      advice: 'give the primary server, not a replica',
    })
  })

  test('finds whether the password is right, and shows none', async () => {
    const locked = await startRedis([
      `requirepass ${SECRET}`,
      `user narrow on >${SECRET} ~* &* +@all -info`,
    ])
    onTestFinished(() => locked.close())
    const at = (login: string) => checkBroker(locked.url.replace('//', `//${login}`))
    expect(await at(`:${SECRET}@`)).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('password accepted'),
    })
    expect(await at(`narrow:${SECRET}@`)).toMatchObject({
      status: 'warn',
      advice: 'allow INFO to this user',
    })
    const refused = { status: 'fail', advice: 'check user and password of --broker' }
    const wrong = [await at(''), await at(`me:${SECRET}-x@`)]
    expect(wrong).toMatchObject([refused, refused])
    expect(JSON.stringify(wrong)).not.toContain(SECRET)
  })

  test('finds a server that is away, and a URL that names none', async () => {
    expect(await checkBroker('valkey://127.0.0.1:1')).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('ECONNREFUSED'),
    })
    const wrong = await checkBroker(`redis://:${SECRET}@host/not-a-number`)
    expect(wrong).toMatchObject({ status: 'fail', advice: 'correct --broker' })
    expect(JSON.stringify(wrong)).not.toContain(SECRET)
  })
})
