import Fastify from 'fastify'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Drain } from './drain.ts'
import { runService, stopAll } from './running-service.ts'

const service = vi.hoisted(() => ({ onSignal: async (_out: object): Promise<void> => {} }))
// It would end the process of the tests.
vi.mock('close-with-grace', () => ({
  default: (_options: object, onSignal: typeof service.onSignal) => {
    service.onSignal = onSignal
    return { uninstall: () => {} }
  },
}))

test('a signal while the ports open stops every part once and starts none', async () => {
  const server = Fastify()
  onTestFinished(() => server.close())
  const listening = Promise.withResolvers<string>()
  vi.spyOn(server, 'listen').mockReturnValue(listening.promise as never)
  const part = { start: vi.fn(), stop: vi.fn() }
  const foundation = { log: pino({ level: 'silent' }), drain: new Drain(new ManualClock()) }
  const listener = { server, option: '--port' as const, host: '127.0.0.1', port: 0 }
  const running = runService([listener], [part], foundation)
  const closed = service.onSignal({ signal: 'SIGTERM' })
  listening.resolve('')
  expect(await running).toBe(false)
  await closed
  expect(part.start).not.toHaveBeenCalled()
  expect(part.stop).toHaveBeenCalledOnce()
})

test('every part is stopped once, also after one that fails', async () => {
  const stopped: string[] = []
  const part = (name: string) => ({ stop: () => stopped.push(name) })
  const failing = { stop: () => Promise.reject(new Error('away')) }
  const parts = [part('first'), failing, part('last')]
  await expect(stopAll(parts)).rejects.toThrow('away')
  await stopAll(parts)
  expect(stopped).toEqual(['first', 'last'])
})
