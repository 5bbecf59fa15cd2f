import { expect, test } from 'vitest'
import { judgeQuote } from './free-checks.ts'

const quote = { x402Version: 2, resource: { url: 'x' }, accepts: [] }
const preview = { 'answer-preview': { info: { data_age_seconds: 3 } } }
const terms = (value: unknown) =>
  new Response('{}', {
    status: 402,
    headers: { 'payment-required': btoa(JSON.stringify(value)) },
  })

test('a quote has the age of the data in its preview', async () => {
  const seen = await judgeQuote(terms({ ...quote, extensions: preview }))
  expect(seen).toEqual({ ageSeconds: 3, fault: null })
})

test('an answer instead of a quote is a failure: the service sells nothing', async () => {
  const answer = new Response('{"meta":{"data_age_seconds":1}}')
  expect(await judgeQuote(answer)).toEqual({
    ageSeconds: null,
    fault: 'answered without a quote: nothing is sold there (--quote off for a free service)',
  })
})

test('a refusal is a failure with its code', async () => {
  const refusal = new Response('{"code":"data_stale"}', { status: 503 })
  expect(await judgeQuote(refusal)).toEqual({ ageSeconds: null, fault: '503 data_stale' })
})
