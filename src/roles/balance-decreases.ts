import type { Registry } from 'prom-client'
import { Counter, Gauge } from 'prom-client'

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

type MeasuredBalance = {
  readonly left: string
  readonly leftHelp: string
  readonly spent: string
  readonly spentHelp: string
  /** It rejects while the balance is unknown. */
  readonly read: () => Promise<number>
}

/** Reports the last known balance and requests it again, so that reading metrics does not wait for a node. */
export function measureBalance(metrics: Registry, measured: MeasuredBalance): void {
  const { left, leftHelp, spent, spentHelp, read } = measured
  const registers = [metrics]
  let balance = Number.NaN
  const countSpent = countDecreases(new Counter({ name: spent, help: spentHelp, registers }))
  const gauge = new Gauge({
    ...{ name: left, help: leftHelp, registers },
    collect() {
      this.set(balance)
      void ask()
    },
  })
  const ask = async () => {
    balance = await read().catch(() => Number.NaN)
    countSpent(balance)
    gauge.set(balance)
  }
  void ask()
}
