import type { Counter } from 'prom-client'

/**
 * Adds up what is spent from an account of which only balances are known. A refill hides what is spent between the same
 * two readings. @returns receives each balance; NaN if it is unknown
 */
export function countDecreases(spent: Counter): (balance: number) => void {
  let before = Number.NaN
  return (balance) => {
    if (Number.isNaN(balance)) return
    if (balance < before) spent.inc(before - balance)
    before = balance
  }
}
