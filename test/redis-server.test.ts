import { createClient } from '@redis/client'
import { afterEach, describe, expect, test } from 'vitest'
import type { RedisServer } from './support/redis.ts'
import { redisBinary, startRedis } from './support/redis.ts'

describe.skipIf(redisBinary === null)('the broker of a test', () => {
  const servers: RedisServer[] = []
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

  test('keeps nothing over a restart on the same port', async () => {
    const server = await startRedis()
    servers.push(server)
    await withClient(server.url, (client) => client.set('document', 'old'))
    await server.kill()
    await server.start()
    expect(await withClient(server.url, (client) => client.get('document'))).toBeNull()
  })

  test('a setting that the server refuses fails the start with its reason', async () => {
    await expect(startRedis(['maxmemory many'])).rejects.toThrow()
  })
})

async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client: Client = createClient({ url, socket: { reconnectStrategy: false } })
  await client.connect()
  try {
    return await use(client)
  } finally {
    client.destroy()
  }
}

type Client = ReturnType<typeof createClient>
