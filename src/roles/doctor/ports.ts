import type { Server } from 'node:net'
import { createServer } from 'node:net'
import type { DoctorOptions } from '../../config/doctor.ts'
import type { AdminOptions } from '../../config/option.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { reasonOf } from '../../domain/errors.ts'
import { isRecord } from '../../domain/json.ts'
import { hostInUrl } from '../serve/public-url.ts'
import { fail, ok } from './finding.ts'
import { answerAt } from './service.ts'

const CHECK = 'ports'

/**
 * Binds and releases the ports of `serve`, except those on which our service answers.
 * @param isRunning whether it answers on the admin port
 * @param isOther whether a service that answers has another data directory
 */
export async function checkPorts(
  { host, port, role, ...admin }: Pick<DoctorOptions, 'host' | 'port' | 'role'> & AdminOptions,
  isRunning: boolean,
  isOther = false,
): Promise<DoctorFinding> {
  // A service with another admin port blocks the port like any other program.
  const isPublicOurs = isRunning && isIndex(await answerAt(`http://${hostInUrl(host)}:${port}/`))
  const wanted = [
    // An engine has no public port.
    ...(role === 'engine' ? [] : [{ name: 'public', host, port, isOurs: isPublicOurs }]),
    { name: 'admin', host: admin.adminHost, port: admin.adminPort, isOurs: isRunning },
  ]
  const found: string[] = []
  // All are held until the last is bound, because both options may name the same port.
  const held: Server[] = []
  let isWell = true
  for (const { name, isOurs, ...address } of wanted) {
    const where = `${name} ${hostInUrl(address.host)}:${address.port}`
    if (isOurs) {
      if (isOther) isWell = false
      const holder = isOther ? 'a perpscope with another data directory' : 'the running service'
      found.push(`${where} held by ${holder}`)
      continue
    }
    try {
      held.push(await bound(address))
      found.push(`${where} free`)
    } catch (cause) {
      isWell = false
      found.push(`${name}: ${reasonOf(cause)}`)
    }
  }
  for (const server of held) await new Promise((resolve) => server.close(resolve))
  if (isWell) return ok(CHECK, found.join(', '))
  return fail(
    CHECK,
    found.join(', '),
    isRunning && isOther
      ? 'serve would not start: give another --port and --admin-port, or the --data-dir of that perpscope'
      : 'serve would not start: find the program that holds it (ss -ltnp), or give another --host, --port or --admin-port',
  )
}

function bound(address: { readonly host: string; readonly port: number }): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen({ ...address, exclusive: true }, () => resolve(server))
  })
}

/** The answer of our service at `/`. */
function isIndex(answer: unknown): boolean {
  return isRecord(answer) && answer['service'] === 'perpscope'
}
