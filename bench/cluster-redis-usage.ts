import { createClient } from '@redis/client'
import type { RedisServer } from '../test/support/redis.ts'

/** Since the start of the server; `storedBytes` at present. */
export type RedisUsage = {
  readonly cpuMicroseconds: number
  readonly receivedBytes: number
  readonly sentBytes: number
  readonly storedBytes: number
}

export async function redisUsage({ url }: RedisServer): Promise<RedisUsage> {
  const client = createClient({ url })
  await client.connect()
  const info = await client.info()
  client.destroy()
  const value = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return {
    cpuMicroseconds: (value('used_cpu_sys') + value('used_cpu_user')) * 1e6,
    receivedBytes: value('total_net_input_bytes'),
    sentBytes: value('total_net_output_bytes'),
    storedBytes: value('used_memory'),
  }
}
