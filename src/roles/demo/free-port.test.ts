import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from './free-port.ts'

test('two demos that start at the same time do not get the same port', async () => {
  const wished = await freePort()
  const other = await Promise.all([freePort(wished), freePort(wished)])
  expect(new Set([wished, ...other]).size).toBe(3)
})

test('a port on which something listens is not given', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  expect(await freePort(taken)).not.toBe(taken)
})
