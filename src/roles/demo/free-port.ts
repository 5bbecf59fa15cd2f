import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral ports, of which any outgoing connection may take one before the server starts. */
const [PORT_MIN, PORT_MAX] = [20_000, 31_999]
/** Some may be taken by other programs. */
const ATTEMPTS_MAX = 20

/**
 * The preferred port if nothing listens on it and no other process has taken it, otherwise any.
 * @throws the last cause, if none can be taken
 */
export async function freePort(wished = anyPort()): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await takePort(attempt === 1 ? wished : anyPort())
    } catch (cause) {
      if (attempt === ATTEMPTS_MAX) throw cause
    }
  }
}

function anyPort(): number {
  return randomInt(PORT_MIN, PORT_MAX + 1)
}

/**
 * Takes a port while this process lives: its server starts later, and a second demo would find the port free until
 * then, and buy from the service of the first one. The claim is the UDP port of the same number, which nothing here uses
 * otherwise.
 * @throws if it is taken
 */
export async function takePort(port: number): Promise<number> {
  const claim = createSocket('udp4')
  try {
    claim.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(claim, 'listening')
    // Only with the claim: to listen for a moment would stop a server that starts on the port.
    await checkUnused(port)
    claim.unref()
    return port
  } catch (cause) {
    claim.close()
    throw cause
  }
}

/** @throws if something listens on it */
function checkUnused(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()))
  })
}
