import { describe, expect, test } from 'vitest'
import { OperatingError } from '../../domain/errors.ts'
import { remedyOf } from './remedy.ts'

describe('the remedy for a file that cannot be read', () => {
  test.each([
    ['SQLITE_FULL', /^free disk space/],
    ['SQLITE_IOERR_SHMSIZE', /^free disk space/],
    ['ENOSPC', /^free disk space/],
    ['SQLITE_READONLY', /^run doctor as the user of the service/],
    ['SQLITE_CANTOPEN', /^run doctor as the user of the service/],
    ['EACCES', /^run doctor as the user of the service/],
    ['ENOENT', /^it is a dangling link/],
    ['ENOTDIR', /^check the path/],
    ['SQLITE_BUSY', /^try again/],
  ])('follows from %s, also as the cause of another error', (code, remedy) => {
    const cause = Object.assign(new Error('no'), { code })
    expect(remedyOf(cause)).toMatch(remedy)
    expect(remedyOf(new OperatingError('ledger_unusable', 'no', { cause }))).toMatch(remedy)
  })

  test('is null for an error of content', () => {
    const cause = Object.assign(new Error('no'), { code: 'SQLITE_CORRUPT' })
    expect(remedyOf(new OperatingError('ledger_corrupt', 'no', { cause }))).toBeNull()
  })
})
