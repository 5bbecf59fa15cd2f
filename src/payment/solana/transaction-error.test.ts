import { describe, expect, test } from 'vitest'
import { failureOf } from './transaction-error.ts'

describe('a transaction that fails', () => {
  test.each([
    ['BlockhashNotFound', 'invalid_exact_svm_payment_expired'],
    ['AlreadyProcessed', 'duplicate_settlement'],
    [{ InstructionError: [2, { Custom: 1 }] }, 'invalid_exact_svm_insufficient_funds'],
    [{ InstructionError: [2, 'InvalidAccountData'] }, 'invalid_exact_svm_insufficient_funds'],
    // The account is frozen.
    [{ InstructionError: [2, { Custom: 17 }] }, 'invalid_exact_svm_transaction_simulation_failed'],
    [{ InstructionError: [3, { Custom: 1 }] }, 'invalid_exact_svm_transaction_simulation_failed'],
    [{ InstructionError: 'odd' }, 'invalid_exact_svm_transaction_simulation_failed'],
    ['AccountLoadedTwice', 'invalid_exact_svm_transaction_simulation_failed'],
    [
      { InsufficientFundsForRent: { account_index: 3 } },
      'invalid_exact_svm_transaction_simulation_failed',
    ],
  ])('with %j is a fault of the payment', (err, reason) => {
    expect(failureOf(err)).toEqual({ fault: 'payment', reason })
  })

  test.each([
    'AccountNotFound',
    'InsufficientFundsForFee',
    'WouldExceedMaxBlockCostLimit',
    { InsufficientFundsForRent: { account_index: 0 } },
  ])('with %j is no fault of the buyer', (err) => {
    expect(failureOf(err).fault).toBe('ours')
  })
})
