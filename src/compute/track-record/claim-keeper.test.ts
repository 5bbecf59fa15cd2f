import { expect, test } from 'vitest'
import type { Claim } from '../../domain/track-record.ts'
import { joinNamed } from '../market/saved-sections.ts'
import { ClaimKeeper } from './claim-keeper.ts'
import { claimsToNumbers } from './saved-claims.ts'

const claim: Claim = {
  ...{ rule: 'zone.touch@1', coin: 'BTC', coinClass: 'majors', madeAtMs: 1, horizonMs: 1 },
  statement: { form: 'event', probability: 0.5, control: null },
  reference: [1],
}

test('damaged claims of one coin restore none of another', () => {
  const saved = (ofEth: ArrayLike<number>) =>
    joinNamed(
      new Map<string, ArrayLike<number>>([
        [' seen', [1, 1]],
        ['BTC', claimsToNumbers([claim])],
        ['ETH', ofEth],
      ]),
    )
  const [sound, damaged] = [new ClaimKeeper(), new ClaimKeeper()]
  expect(sound.restore(saved([]))).toBe(true)
  expect(sound.madeAfter(0)).toEqual([claim])
  expect(damaged.restore(saved([9]))).toBe(false)
  expect(damaged.madeAfter(0)).toEqual([])
})
