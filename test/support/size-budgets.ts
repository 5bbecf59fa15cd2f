import { expect } from 'vitest'
import { contracts } from '../../src/compute/analyses/registry.ts'

/** What a model reads before a call: 120,000 bytes and 6,000 tokens with 14 analyses, and a share for each further one. */
export const OPENAPI_BYTES_MAX = 120_000 + 5_000 * (contracts.length - 14)
export const TOOLS_TOKENS_MAX = 6_000 + 400 * (contracts.length - 14)

export function expectWithin(size: number, limit: number, unit: string): void {
  const remedy = 'shorten descriptions in the <id>-schema.ts that grew'
  expect(size, `${size} ${unit}, limit ${limit}: ${remedy}`).toBeLessThanOrEqual(limit)
}
