import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { openFault, openFilesMax } from './open-files.ts'

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

test('the number of files that may be open is that of the shell that started the process', () => {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  expect(openFilesMax()).toBe(limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit))
})
