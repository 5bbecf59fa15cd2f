import { expect, test } from 'vitest'
import type { ResolvedClaim, Statement } from '../../domain/track-record.ts'
import { voidReasons } from '../../domain/track-record.ts'
import { UnstoredClaims } from './unstored-claims.ts'

const seven = [1, 2, 3, 4, 5, 6, 7]
const quantiles: Statement = { form: 'quantiles', values: seven, control: seven.toReversed() }
const event: Statement = { form: 'event', probability: 0.55, control: 0.5 }

const claims: readonly ResolvedClaim[] = [
  claimOf('BTC', event, { kind: 'event', happened: true, controlHappened: null }),
  claimOf(
    'xyz:TSLA',
    { ...event, control: null },
    {
      ...{ kind: 'event', happened: false, controlHappened: true },
    },
  ),
  claimOf('kPEPE', quantiles, { kind: 'value', value: 1 / 3 }),
  ...voidReasons.map((reason) =>
    claimOf('ETH', { form: 'rank', score: -1e-9, control: 2 }, { kind: 'void', reason }),
  ),
]

test('come back from a checkpoint in their order, byte for byte', () => {
  const [before, after] = [new UnstoredClaims(), new UnstoredClaims()]
  for (const claim of claims) before.add(claim)
  before.remove(1)
  expect(after.restore(before.save())).toBe(true)
  expect(JSON.stringify(after.next(9))).toBe(JSON.stringify(claims.slice(1)))
  before.remove(before.length)
  expect(after.restore(before.save())).toBe(true)
  expect(after.length).toBe(0)
})

test('of another layout are not restored', () => {
  const restored = new UnstoredClaims()
  expect(restored.restore(Float64Array.of(1, 2))).toBe(false)
  expect(restored.length).toBe(0)
})

test('above the bound lose the oldest ones, counted', () => {
  const kept = new UnstoredClaims()
  for (let at = 0; at < 16_386; at += 1) kept.add({ ...(claims[0] as ResolvedClaim), madeAtMs: at })
  expect([kept.length, kept.dropped, kept.next(1)[0]?.madeAtMs]).toEqual([16_384, 2, 2])
})

function claimOf(
  coin: string,
  statement: Statement,
  outcome: ResolvedClaim['outcome'],
): ResolvedClaim {
  return {
    ...{ rule: 'zone.gone@1', horizonMs: 3_600_000, coinClass: 'tail', coin, madeAtMs: 900_000 },
    ...{ statement, reference: [1, 0.1 + 0.2], resolvedAtMs: 5_400_000, outcome },
  }
}
