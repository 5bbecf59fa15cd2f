import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { checkPorts } from './ports.ts'
import { readinessAt } from './service.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const host = '127.0.0.1'
const adminHost = host
const role = 'all'

describe('the ports', () => {
  test('that are free are free again afterwards', async () => {
    const [port, adminPort] = [
      await freed(await portOf(silent())),
      await freed(await portOf(silent())),
    ]
    for (const _ of [1, 2])
      expect(await portsFound({ role, host, port, adminHost, adminPort })).toMatchObject({
        status: 'ok',
        found: `public 127.0.0.1:${port} free, admin 127.0.0.1:${adminPort} free`,
      })
  })

  test('that another program holds keep serve from starting', async () => {
    const [port, adminPort] = [await portOf(silent()), await portOf(answering({ hello: 'world' }))]
    expect(await portsFound({ role, host, port, adminHost, adminPort })).toMatchObject({
      status: 'fail',
      found: `public: listen EADDRINUSE: address already in use 127.0.0.1:${port}, admin: listen EADDRINUSE: address already in use 127.0.0.1:${adminPort}`,
      advice: expect.stringMatching(/^serve would not start/),
    })
  })

  test('of an engine are the admin port alone', async () => {
    const port = await portOf(silent())
    const adminPort = await freed(await portOf(silent()))
    expect(await portsFound({ role: 'engine', host, port, adminHost, adminPort })).toMatchObject({
      status: 'ok',
      found: `admin 127.0.0.1:${adminPort} free`,
    })
  })

  test('that our own service holds are well', async () => {
    const adminPort = await portOf(answering({ ready: false, reasons: ['coin_ready'] }))
    const port = await portOf(answering({ service: 'perpscope' }))
    expect(await portsFound({ role, host, port, adminHost, adminPort })).toMatchObject({
      status: 'ok',
      found: `public 127.0.0.1:${port} held by the running service, admin 127.0.0.1:${adminPort} held by the running service`,
    })
  })

  test('that a service with another data directory holds keep a second one from starting', async () => {
    const adminPort = await portOf(answering({ ready: true, reasons: [] }))
    const port = await portOf(answering({ service: 'perpscope' }))
    expect(await portsFound({ role, host, port, adminHost, adminPort }, true)).toMatchObject({
      status: 'fail',
      found: `public 127.0.0.1:${port} held by a perpscope with another data directory, admin 127.0.0.1:${adminPort} held by a perpscope with another data directory`,
      advice: expect.stringContaining('give another --port and --admin-port'),
    })
  })

  test('that a service with another admin port holds keep a second one from starting', async () => {
    const port = await portOf(answering({ service: 'perpscope' }))
    expect(await portsFound({ role, host, port, adminHost, adminPort: 0 })).toMatchObject({
      status: 'fail',
    })
  })

  test('that are one and the same are one too few', async () => {
    const port = await freed(await portOf(silent()))
    expect(await portsFound({ role, host, port, adminHost, adminPort: port })).toMatchObject({
      status: 'fail',
      found: expect.stringMatching(/^public .* free, admin: listen EADDRINUSE/),
    })
  })

  test('on an address that this machine does not have are none', async () => {
    // Reserved for documentation, RFC 5737.
    expect(
      await portsFound({ role, host: '192.0.2.1', port: 0, adminHost, adminPort: 0 }),
    ).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('EADDRNOTAVAIL'),
    })
  })
})

/** As the doctor asks. */
async function portsFound(options: Parameters<typeof checkPorts>[0], isOther = false) {
  return checkPorts(options, (await readinessAt(options)) !== null, isOther)
}

function silent(): Server {
  return createServer((socket) => socket.destroy())
}

function answering(body: object): Server {
  return createHttpServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
}

async function portOf(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

async function freed(port: number): Promise<number> {
  await new Promise((resolve) => servers.pop()?.close(resolve))
  return port
}
