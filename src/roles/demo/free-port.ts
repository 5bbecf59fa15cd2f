import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/**
 * The preferred port if nothing listens on it and no other demo has taken it, otherwise any. It stays taken while this
 * process lives: what is to listen there starts later, and a second demo would find the port free until then, and buy
 * from the service of the first one. The UDP port of the same number says so, which nothing here uses otherwise.
 */
export async function freePort(wished = 0): Promise<number> {
  try {
    const found = await tryTcp(wished)
    await takeUdp(found)
    return found
  } catch {
    // Of the ports that the system chooses, some may be taken on UDP by other programs.
    return freePort()
  }
}

function tryTcp(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      const found = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => resolve(found))
    })
  })
}

function takeUdp(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    socket.once('error', reject)
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      resolve()
    })
  })
}
