import { expect, test } from 'vitest'
import { SECRET_CHARS } from '../payment/extensions/answer-access.ts'
import { quoteSecrets } from './quote-secrets.ts'

test('no secret of two sources comes twice', () => {
  const [one, other] = [quoteSecrets(), quoteSecrets()]
  const secrets = Array.from({ length: 1_000 }, () => [one(), other()]).flat()
  expect(new Set(secrets).size).toBe(secrets.length)
  for (const secret of secrets) expect(secret).toMatch(new RegExp(`^[\\w-]{${SECRET_CHARS}}$`))
})
