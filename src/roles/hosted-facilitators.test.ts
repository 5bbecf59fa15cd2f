import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import pino from 'pino'
import { expect, test } from 'vitest'
import { hostedFacilitators } from './hosted-facilitators.ts'

/** A URL at which nothing listens. */
async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

test('the log names the facilitator in a member of its own', async () => {
  const url = await closedUrl()
  const lines: string[] = []
  const log = pino({ name: 'perpscope' }, { write: (line: string) => void lines.push(line) })
  const hosted = hostedFacilitators(
    { facilitatorUrl: [url] } as unknown as Parameters<typeof hostedFacilitators>[0],
    log,
  )
  await hosted?.examine()
  const line = lines.find((one) => one.includes('out of service')) ?? ''
  expect(line.match(/"name":/g)).toHaveLength(1)
  expect(JSON.parse(line)).toMatchObject({ name: 'perpscope', facilitator: url, state: 'down' })
})
