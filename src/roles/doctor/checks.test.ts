import { expect, test } from 'vitest'
import { findingsOf } from './checks.ts'
import { ok } from './finding.ts'

test('a check that throws is one finding, and the others are made and told all the same', async () => {
  const refused = Object.assign(new Error("EACCES: permission denied, scandir '/data'"), {
    code: 'EACCES',
  })
  const findings = await findingsOf([
    [
      'files set aside',
      () => {
        throw refused
      },
    ],
    ['venue', () => Promise.reject(new Error('a defect'))],
    ['ledger', () => null],
    ['weight', () => [ok('weight', 'is planned'), ok('clock', 'is right')]],
  ])
  expect(findings).toEqual([
    {
      ...{ check: 'files set aside', status: 'fail' },
      found: "cannot be checked: EACCES: permission denied, scandir '/data'",
      advice: expect.stringMatching(/^run doctor as the user of the service/),
    },
    {
      ...{ check: 'venue', status: 'fail', found: 'cannot be checked: a defect' },
      advice: expect.stringContaining('report it'),
    },
    ok('weight', 'is planned'),
    ok('clock', 'is right'),
  ])
})
