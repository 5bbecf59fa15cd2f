import { expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { DoctorRun, doctorCommand } from './doctor-run.ts'

const FINDING = { check: 'disk', status: 'fail', found: 'full', advice: 'free space' }

/** A program in the place of the command line. */
function running(script: string) {
  const clock = new ManualClock()
  const run = new DoctorRun({ program: process.execPath, args: ['-e', script] }, clock)
  const ended = async () => {
    while (run.report().state === 'running') await new Promise((resolve) => setImmediate(resolve))
    return run.report()
  }
  return { clock, run, ended }
}

test('the report of a run is kept, also if a check has failed', async () => {
  const output = JSON.stringify({ ok: false, checks: [FINDING] })
  const { clock, run, ended } = running(`console.log(${JSON.stringify(output)}); process.exit(1)`)
  expect(run.report()).toMatchObject({ state: 'never', startedAtMs: null, findings: [] })
  expect(run.start()).toBe(true)
  expect(run.start(), 'one at a time').toBe(false)
  expect(run.report()).toMatchObject({ state: 'running', startedAtMs: clock.nowMs() })
  expect(await ended()).toMatchObject({ state: 'done', failure: null, findings: [FINDING] })
  expect(run.report().endedAtMs).toBe(clock.nowMs())
  expect(run.start()).toBe(true)
  expect(run.report(), 'the last result until the next one').toMatchObject({ findings: [FINDING] })
  await ended()
})

test('a program that cannot be started is a failed run, and can be tried again', async () => {
  const run = new DoctorRun({ program: '/nonexistent/program', args: [] }, new ManualClock())
  run.start()
  while (run.report().state === 'running') await new Promise((resolve) => setImmediate(resolve))
  expect(run.report()).toMatchObject({
    state: 'failed',
    failure: expect.stringContaining('ENOENT'),
  })
  expect(run.start()).toBe(true)
})

test('a run without a report states why', async () => {
  const { run, ended } = running('process.exit(78)')
  run.start()
  expect(await ended()).toMatchObject({
    state: 'failed',
    failure: 'it ended with exit code 78 and without a report',
  })
})

test('a run that hangs is ended after three minutes, and by the end of the service', async () => {
  const hanging = running('setInterval(() => {}, 1000)')
  hanging.run.start()
  hanging.clock.advance(180_000)
  expect(await hanging.ended()).toMatchObject({ state: 'failed', failure: 'ended by SIGKILL' })
  hanging.run.start()
  hanging.run.stop()
  expect(await hanging.ended()).toMatchObject({ failure: 'ended by SIGKILL' })
})

test('it has the options of this process', () => {
  const argv = ['node', '/opt/main.js', 'serve', '--payment', 'open', '--port', '0']
  const command = doctorCommand({ argv, execArgv: ['--flag'], execPath: '/bin/node' })
  expect(command).toEqual({
    program: '/bin/node',
    args: ['--flag', '/opt/main.js', 'doctor', '--payment', 'open', '--port', '0', '--json'],
  })
})
