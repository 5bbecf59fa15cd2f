import { expect, test } from 'vitest'
import { sampleAnswer } from '../src/api/discovery/samples.ts'
import { sampleAnswers } from './support/sample-answers.ts'

test('samples are what the engine gives on the simulated market today', () => {
  for (const [id, answer] of sampleAnswers())
    expect(answer, `run test/golden/write-samples.ts: ${id}`).toEqual(sampleAnswer(id))
})
