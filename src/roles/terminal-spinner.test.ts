import { expect, onTestFinished, test, vi } from 'vitest'
import { terminalSpinner } from './terminal-spinner.ts'

test.each([
  { isTTY: true, columns: 80, term: 'xterm', ci: undefined, isShown: true },
  { isTTY: false, columns: 80, term: 'xterm', ci: undefined, isShown: false },
  { isTTY: true, columns: 0, term: 'xterm', ci: undefined, isShown: false },
  { isTTY: true, columns: 80, term: 'dumb', ci: undefined, isShown: false },
  { isTTY: true, columns: 80, term: 'xterm', ci: 'true', isShown: false },
])('a spinner with %j', ({ isTTY, columns, term, ci, isShown }) => {
  vi.stubEnv('TERM', term)
  vi.stubEnv('CI', ci)
  onTestFinished(() => void vi.unstubAllEnvs())
  const stream = { isTTY, columns } as NodeJS.WriteStream
  expect(terminalSpinner(stream) !== null).toBe(isShown)
})
