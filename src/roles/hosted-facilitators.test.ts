import pino from 'pino'
import { expect, test } from 'vitest'
import { hostedFacilitators } from './hosted-facilitators.ts'

test('the log names the facilitator in a member of its own', async () => {
  // Nothing listens there.
  const url = 'http://127.0.0.1:1'
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
