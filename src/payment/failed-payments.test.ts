import { describe, expect, test } from 'vitest'
import { FailedPayments } from './failed-payments.ts'
import { localRateLimits } from './rate-limit.ts'
import { rejection } from './rejection.ts'

const HERE = '10.0.0.1'
const expired = rejection('payment_expired', 'Sign a new one.')
const poor = rejection('insufficient_funds', 'Fund the wallet.')

function counting(perAddressPerMinute: number, identicalPerMinute: number): FailedPayments {
  return new FailedPayments({
    perAddressPerMinute,
    identicalPerMinute,
    rateLimits: localRateLimits,
  })
}

describe('payments that fail in the same way', () => {
  test('are reported from the third on, and blocked after the last', async () => {
    const failed = counting(100, 4)
    const replies = []
    for (let time = 1; time <= 5; time += 1)
      replies.push(await failed.countInvalid(HERE, 'ann', expired))
    expect(replies.slice(0, 2)).toEqual([expired, expired])
    expect(replies[2]).toMatchObject({
      reason: 'payment_expired',
      hint: expect.stringMatching(/^Sign a new one\. The same failure occurred 3 times/),
    })
    expect(replies[4]).toMatchObject({ of: 'loop', rejected: expired })
  })

  test.each([
    ['another reason', HERE, 'ann', poor],
    ['another wallet', HERE, 'bob', expired],
    ['another address', '10.0.0.2', 'ann', expired],
  ] as const)('are not those of %s', async (_title, caller, payer, rejected) => {
    const failed = counting(100, 1)
    await failed.countInvalid(HERE, 'ann', expired)
    expect(await failed.countInvalid(caller, payer, rejected)).toEqual(rejected)
  })
})

test('a correction is repeated as often as needed', async () => {
  const failed = counting(100, 1)
  const correction = { scheme: 'batch-settlement', network: 'eip155:8453', extra: {} }
  const behind = { ...rejection('cumulative_amount_mismatch', 'Sign over it.'), correction }
  for (const _ of [1, 2, 3]) expect(await failed.countRefused(HERE, 'ann', behind)).toBe(behind)
  expect(await failed.walletLimit('ann')).toBeNull()
})

describe('an address that has used up its failures', () => {
  test('is blocked, independent of the failure', async () => {
    const failed = counting(2, 100)
    await failed.countMalformed(HERE)
    await failed.countInvalid(HERE, 'ann', expired)
    expect(await failed.countMalformed(HERE)).toMatchObject({ of: 'address' })
    expect(await failed.countInvalid(HERE, 'bob', poor)).toMatchObject({ of: 'address' })
    expect(await failed.countInvalid('10.0.0.2', 'bob', poor)).toEqual(poor)
  })

  test('still has its payments checked, one after the other', async () => {
    const failed = counting(1, 100)
    await failed.countMalformed(HERE)
    const { log, checks } = openChecks(3)
    const results = checks.map(({ check }) => failed.check(HERE, check))
    for (const [index, { end }] of checks.entries()) {
      await expect.poll(() => log).toEqual([0, 1, 2].slice(0, index + 1))
      end()
      expect(await results[index]).toBe(index)
    }
  })

  test('waits for nobody at another address, and not before', async () => {
    const failed = counting(1, 100)
    const { log, checks } = openChecks(4)
    const before = checks.slice(0, 2).map(({ check }) => failed.check(HERE, check))
    await expect.poll(() => log).toEqual([0, 1])
    await failed.countMalformed(HERE)
    const after = checks
      .slice(2)
      .map(({ check }, index) => failed.check(['10.0.0.2', '10.0.0.3'][index] ?? '', check))
    await expect.poll(() => [...log].sort()).toEqual([0, 1, 2, 3])
    for (const { end } of checks) end()
    expect(await Promise.all([...before, ...after])).toEqual([0, 1, 2, 3])
  })

  test('continues after a check that throws', async () => {
    const failed = counting(1, 100)
    await failed.countMalformed(HERE)
    const broken = failed.check(HERE, () => Promise.reject(new Error('node gone')))
    const next = failed.check(HERE, async () => 'checked')
    await expect(broken).rejects.toThrow('node gone')
    expect(await next).toBe('checked')
  })

  test('is refused a check only when more wait than there are connections', async () => {
    const failed = counting(1, 100)
    await failed.countMalformed(HERE)
    let open: (checked: number) => void = () => undefined
    const gate = new Promise<number>((resolve) => {
      open = resolve
    })
    const waiting = Array.from({ length: 1_000 }, () => failed.check(HERE, () => gate))
    expect(await failed.check(HERE, () => gate)).toMatchObject({ of: 'address' })
    open(0)
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 1_000 }, () => 0))
  })
})

describe('a wallet whose payments the chain refuses', () => {
  test('is blocked until the end of the minute, from any address', async () => {
    const failed = counting(100, 2)
    await failed.countRefused(HERE, 'ann', poor)
    expect(await failed.walletLimit('ann')).toBeNull()
    await failed.countRefused('10.0.0.2', 'ann', expired)
    expect(await failed.walletLimit('ann')).toMatchObject({ of: 'wallet' })
    expect(await failed.walletLimit('bob')).toBeNull()
  })

  test('is not barred for what anybody can say of it', async () => {
    const failed = counting(100, 2)
    for (const _ of [1, 2, 3]) await failed.countInvalid(HERE, 'ann', expired)
    expect(await failed.walletLimit('ann')).toBeNull()
  })
})

type OpenCheck = { readonly check: () => Promise<number>; readonly end: () => void }

/** Checks that the test completes by number, and a log of their starts. */
function openChecks(count: number) {
  const log: number[] = []
  const checks = Array.from({ length: count }, (_, index): OpenCheck => {
    let end: () => void = () => undefined
    const ended = new Promise<number>((resolve) => {
      end = () => resolve(index)
    })
    const check = () => {
      log.push(index)
      return ended
    }
    return { check, end }
  })
  return { log, checks }
}
