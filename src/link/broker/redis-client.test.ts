import { expect, test } from 'vitest'
import { redisClient } from './redis-client.ts'

test.each(['valkey://h', 'VALKEY://h', 'Valkeys://h', 'REDIS://h'])('%s is a server', (url) => {
  expect(() => redisClient(url, () => 0)).not.toThrow()
})
