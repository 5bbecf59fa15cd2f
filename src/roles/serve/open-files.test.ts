import { expect, test } from 'vitest'
import { openFault } from './open-files.ts'

function failing(code: string) {
  return () => {
    throw Object.assign(new Error(code), { code })
  }
}

test('a process without free file descriptors is reported with the remedy', () => {
  expect(openFault()).toBeNull()
  for (const code of ['EMFILE', 'ENFILE'])
    expect(openFault(failing(code))).toMatch(/too many open files; .* Raise LimitNOFILE=/)
  expect(() => openFault(failing('EACCES'))).toThrow('EACCES')
})
