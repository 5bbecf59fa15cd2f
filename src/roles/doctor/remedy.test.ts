import { describe, expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import { remedyOf } from './remedy.ts'

describe('what to do where a file cannot be looked at', () => {
  test.each([
    ['SQLITE_FULL', /^make room/],
    ['SQLITE_IOERR_SHMSIZE', /^make room/],
    ['ENOSPC', /^make room/],
    ['SQLITE_READONLY', /^run doctor as the user of the service/],
    ['SQLITE_CANTOPEN', /^run doctor as the user of the service/],
    ['EACCES', /^run doctor as the user of the service/],
    ['ENOENT', /^it is a link to nothing/],
    ['ENOTDIR', /^see what lies there/],
    ['SQLITE_BUSY', /^ask again/],
  ])('follows from %s, also where another error tells of it', (code, remedy) => {
    const cause = Object.assign(new Error('no'), { code })
    expect(remedyOf(cause)).toMatch(remedy)
    expect(remedyOf(new OperatingError('ledger_unusable', 'no', { cause }))).toMatch(remedy)
  })

  test('is nothing where what the file holds is the trouble', () => {
    const cause = Object.assign(new Error('no'), { code: 'SQLITE_CORRUPT' })
    expect(remedyOf(new OperatingError('ledger_corrupt', 'no', { cause }))).toBeNull()
  })
})
