import { expect, test } from 'vitest'
import type { AnswerFile } from '../proof/answer-file.ts'
import { recomputedStep } from './recomputed-answer.ts'

const fileOf = (path: string | null): AnswerFile => ({
  path,
  answer: { coin: 'BTC' },
  receipt: { success: true, transaction: '0x1', network: 'eip155:8453', payer: '0x2' },
})

test.each([
  ['no path', null],
  ['no URL', '//['],
  ['a broken escape', '/pulse/%E0%A4%A'],
  ['an unknown analysis', '/nothing/BTC'],
  ['an unknown parameter', '/pulse/BTC?depth=9'],
])('an answer with %s is not computed again, and nothing is read', (_what, path) => {
  expect(recomputedStep(fileOf(path), '/does/not/exist')).toMatchObject({ verdict: 'open' })
})

test.each(['/pulse/BTC/', '/screener/'])('%s is the call without its last slash', (path) => {
  const { text } = recomputedStep(fileOf(path), '/does/not/exist')
  expect(text, 'the call is known, the instant is not').toContain('meta.answer_id')
})
