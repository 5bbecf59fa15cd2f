import { Socket } from 'node:dgram'
import { createServer, Server } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort, takePort } from './free-port.ts'

test('two demos that start at the same time do not get the same port', async () => {
  const wished = await freePort()
  const other = await Promise.all([freePort(wished), freePort(wished)])
  expect(new Set([wished, ...other]).size).toBe(3)
})

/** Of Linux; those of other systems begin higher. */
const EPHEMERAL_MIN = 32_768

test('a port that any outgoing connection may take is not given', async () => {
  const taken = await freePort()
  for (const port of [taken, await freePort(taken)]) expect(port).toBeLessThan(EPHEMERAL_MIN)
})

test('a port that is taken is not tried, because its server may start at that moment', async () => {
  const taken = await freePort()
  const listens = vi.spyOn(Server.prototype, 'listen')
  await expect(takePort(taken)).rejects.toThrow('EADDRINUSE')
  expect(listens).not.toHaveBeenCalled()
})

test('a port on which something listens is not given', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  expect(await freePort(taken)).not.toBe(taken)
})

test('where no port can be taken, the cause is reported after 20 attempts', async () => {
  const bind = vi.spyOn(Socket.prototype, 'bind').mockImplementation(() => {
    throw new Error('none is left')
  })
  await expect(freePort(1)).rejects.toThrow('none is left')
  expect(bind).toHaveBeenCalledTimes(20)
})
