import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Hold } from './budget.ts'
import { Budget } from './budget.ts'
import { UnpayableError } from './errors.ts'

const PRICE = 100_000n
const ENDS_MS = 180_000

function budgetOf(totalUsd = 1) {
  let nowMs = 0
  const budget = new Budget({ maxUsdPerCall: 0.1, totalUsd }, () => nowMs)
  const signed = (): Hold =>
    budget.signed(budget.hold(PRICE), { amount: PRICE, endsMs: nowMs + ENDS_MS })
  const deposited = (channel: string, amount: bigint, cumulative = PRICE): Hold => {
    const deposit = { amount, endsMs: nowMs + ENDS_MS }
    return budget.signedVoucher(budget.hold(PRICE), channel, cumulative, deposit)
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { budget, signed, deposited, advance }
}

describe('a signed payment counts', () => {
  test('until it cannot be settled, also if reported as not charged', () => {
    const { budget, signed, advance } = budgetOf()
    budget.reportUncharged(signed())
    advance(ENDS_MS - 1)
    expect([budget.spentUsd, budget.heldUsd]).toEqual([0.1, 0.1])
    advance(1)
    expect([budget.spentUsd, budget.heldUsd]).toEqual([0, 0])
  })

  test('permanently, unless reported as not charged', () => {
    const { budget, signed, advance } = budgetOf()
    signed()
    advance(ENDS_MS)
    expect([budget.spentUsd, budget.heldUsd]).toEqual([0.1, 0])
  })

  test('permanently once settled, also after a report to the contrary', () => {
    const { budget, signed, advance } = budgetOf()
    const [at, late] = [signed(), signed()]
    budget.reportUncharged(at)
    budget.settle(at)
    budget.reportUncharged(late)
    advance(ENDS_MS)
    expect(budget.spentUsd).toBe(0.1)
    budget.settle(late)
    budget.settle(late)
    expect(budget.spentUsd).toBe(0.2)
  })

  test('not at all if it was not sent', () => {
    const { budget } = budgetOf()
    budget.forget(budget.hold(PRICE))
    expect(budget.spentUsd).toBe(0)
  })

  test('as a voucher permanently, by the cumulative sum of its channel', () => {
    const { budget, advance } = budgetOf()
    budget.signedVoucher(budget.hold(PRICE), '0xa', 300_000n)
    budget.signedVoucher(budget.hold(PRICE), '0xa', 400_000n)
    // The same again, by a client that has lost count.
    budget.reportUncharged(budget.signedVoucher(budget.hold(PRICE), '0xa', 400_000n))
    advance(10 * ENDS_MS)
    expect([budget.spentUsd, budget.heldUsd]).toEqual([0.4, 0])
  })
})

describe('a deposit counts', () => {
  test('apart from the vouchers that it pays for', () => {
    const { budget, deposited } = budgetOf()
    deposited('0xa', 600_000n)
    expect(budget.spentUsd).toBe(0.1)
    for (let prices = 2n; prices <= 6n; prices += 1n)
      budget.signedVoucher(budget.hold(PRICE), '0xa', prices * PRICE)
    deposited('0xa', 400_000n, 7n * PRICE)
    expect(budget.spentUsd).toBe(0.7)
  })

  test('until it cannot be made, if reported as not charged', () => {
    const { budget, deposited, advance } = budgetOf()
    budget.reportUncharged(deposited('0xa', 1_000_000n))
    advance(ENDS_MS - 1_000)
    const again = () => deposited('0xa', 1_000_000n)
    expect(again).toThrow(/only 0 of deposits; another 1 are reserved .* retry in 1 s; nothing was/)
    advance(1_000)
    again()
  })

  test('permanently after an answer, without one, and beyond one budget of releases', () => {
    const { budget, deposited, advance } = budgetOf()
    budget.settle(deposited('0xa', 300_000n))
    deposited('0xb', 300_000n)
    for (const amount of [400_000n, 400_000n, 400_000n]) {
      budget.reportUncharged(deposited('0xc', amount))
      advance(ENDS_MS)
    }
    expect(() => deposited('0xc', 1n)).toThrow(/allows only 0 of deposits; nothing was sent/)
  })
})

describe('nothing is sent', () => {
  test('with deposits above the budget in one or together', () => {
    const { deposited } = budgetOf()
    expect(() => deposited('0xa', 1_000_001n)).toThrow(
      'but the budget allows only 1 of deposits; nothing was sent. Increase totalUsd, or set depositStrategy of the wallet',
    )
    deposited('0xa', 600_000n)
    expect(() => deposited('0xb', 600_000n)).toThrow(/allows only 0.4 of deposits; nothing was/)
  })

  test('for a voucher over more than the call costs, or than is left', () => {
    const { budget } = budgetOf()
    budget.signedVoucher(budget.hold(PRICE), '0xa', 300_000n)
    const expected = budget.hold(PRICE)
    const tries = [
      () => budget.signedVoucher(expected, '0xa', 400_001n),
      () => budget.signedVoucher(expected, '0xb', 700_001n),
    ]
    for (const attempt of tries) expect(attempt).toThrow(/nothing was sent$/)
    budget.forget(expected)
    expect(budget.spentUsd).toBe(0.3)
  })

  test('beyond the budget, and it says what is held and for how long', () => {
    const { budget, signed, advance } = budgetOf(0.1)
    budget.reportUncharged(signed())
    advance(60_000)
    expect(() => budget.hold(PRICE)).toThrow(
      'the call costs 0.1 USDC, but only 0 of the budget are left; another 0.1 are reserved for payments that were ' +
        'reported as not charged but can still be settled: retry in 120 s; nothing was signed',
    )
  })
})

test('a seller that denies for ever gets no more than twice the budget', () => {
  const { budget, signed, advance } = budgetOf()
  let signatures = 0
  for (let round = 0; round < 100; round += 1) {
    for (;;) {
      try {
        budget.reportUncharged(signed())
        signatures += 1
      } catch (cause) {
        expect(cause).toBeInstanceOf(UnpayableError)
        break
      }
    }
    advance(ENDS_MS)
  }
  expect(signatures).toBe(20)
})

type Step = { readonly what: 'sign' | 'settle' | 'report' | 'wait'; readonly index: number }

const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom('sign', 'sign', 'settle', 'report', 'wait'),
    index: fc.nat(30),
  }),
  { maxLength: 200 },
)

property.prop([steps], { seed: 34 })(
  'what can be charged at a moment is never more than the budget',
  (all) => {
    const { budget, signed, advance } = budgetOf()
    const holds: { readonly hold: Hold; isOver: boolean }[] = []
    let nowMs = 0
    let settled = 0
    for (const { what, index } of all) {
      const chosen = holds[index % Math.max(1, holds.length)]
      if (what === 'wait') {
        nowMs += index * 10_000
        advance(index * 10_000)
      } else if (what === 'sign') {
        try {
          holds.push({ hold: signed(), isOver: false })
        } catch (cause) {
          expect(cause).toBeInstanceOf(UnpayableError)
        }
      } else if (chosen !== undefined && what === 'report') budget.reportUncharged(chosen.hold)
      else if (chosen !== undefined && !chosen.isOver && chosen.hold.endsMs > nowMs) {
        chosen.isOver = true
        settled += 1
        budget.settle(chosen.hold)
      }
      const open = holds.filter(({ hold, isOver }) => !isOver && hold.endsMs > nowMs).length
      expect(open + settled).toBeLessThanOrEqual(10)
      expect(Math.round(budget.spentUsd * 10)).toBeGreaterThanOrEqual(open + settled)
    }
  },
)
