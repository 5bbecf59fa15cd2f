import Fastify from 'fastify'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { Drain } from './drain.ts'
import type { ServicePart } from './running-service.ts'
import { runService, stopAll } from './running-service.ts'

const service = vi.hoisted(() => ({
  onSignal: async (_out: object): Promise<void> => {},
  options: {},
  isInstalled: false,
}))
// It would end the process of the tests.
vi.mock('close-with-grace', () => ({
  default: (options: object, onSignal: typeof service.onSignal) => {
    Object.assign(service, { options, onSignal, isInstalled: true })
    return { uninstall: () => Object.assign(service, { isInstalled: false }) }
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
  const open = async (parts: ServicePart[]) => {
    parts.push(part)
    return [listener]
  }
  const running = runService(open, foundation)
  await expect.poll(() => server.listen).toHaveBeenCalled()
  const closed = service.onSignal({ signal: 'SIGTERM' })
  listening.resolve('')
  expect(await running).toBe(false)
  await closed
  expect(part.start).not.toHaveBeenCalled()
  expect(part.stop).toHaveBeenCalledOnce()
})

test('a signal during the start stops what is open, and no port opens', async () => {
  const server = Fastify()
  const listen = vi.spyOn(server, 'listen')
  const part = { start: vi.fn(), stop: vi.fn() }
  const opened = Promise.withResolvers<void>()
  const foundation = { log: pino({ level: 'silent' }), drain: new Drain(new ManualClock()) }
  const running = runService(async (parts) => {
    parts.push(part)
    await opened.promise
    return [{ server, option: '--port', host: '127.0.0.1', port: 0 }]
  }, foundation)
  await service.onSignal({ signal: 'SIGTERM' })
  expect(part.stop).toHaveBeenCalledOnce()
  opened.resolve()
  expect(await running).toBe(false)
  expect(listen).not.toHaveBeenCalled()
  expect(part.start).not.toHaveBeenCalled()
})

test('a start that fails stops what is open, and its own reason is thrown', async () => {
  const before = process.listeners('SIGTERM')
  const signals: NodeJS.SignalsListener[] = []
  const stop = vi.fn(() => {
    // A signal would end the process with 0.
    expect(service.isInstalled).toBe(false)
    signals.push(...process.listeners('SIGTERM').filter((one) => !before.includes(one)))
    return Promise.reject(new Error('away'))
  })
  const foundation = { log: pino({ level: 'silent' }), drain: new Drain(new ManualClock()) }
  const running = runService(async (parts) => {
    parts.push({ stop })
    throw new Error('the file is missing')
  }, foundation)
  await expect(running).rejects.toThrow('the file is missing')
  expect(stop).toHaveBeenCalledOnce()
  expect(signals, 'the first signal is ignored').toHaveLength(1)
})

test('only a signal is reported as one', async () => {
  const log = pino({ level: 'silent' })
  const info = vi.spyOn(log, 'info')
  const opened = Promise.withResolvers<never[]>()
  const running = runService(() => opened.promise, { log, drain: new Drain(new ManualClock()) })
  expect(service.options).toMatchObject({ skip: ['beforeExit'] })
  await service.onSignal({ manual: true })
  opened.resolve([])
  await running
  expect(info).not.toHaveBeenCalled()
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
