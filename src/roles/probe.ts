import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { Registry } from 'prom-client'
import type { ProbeOptions } from '../config/probe.ts'
import { UsageError } from '../config/usage.ts'
import { certificateEnd } from './probe/certificate.ts'
import type { CheckResult } from './probe/check-window.ts'
import { CheckWindow } from './probe/check-window.ts'
import { freeCheck, judgeHealth, judgeQuote } from './probe/free-checks.ts'
import { metricsServer } from './probe/metrics-server.ts'
import { ProbeMetrics } from './probe/probe-metrics.ts'
import { PurchaseChecks } from './probe/purchase-checks.ts'
import { reportLine, reportTable } from './probe/report.ts'
import { monotonicMs, systemClock } from './system-clock.ts'

type Shell = {
  readonly write: (text: string) => void
  /** Standard output is read by a person. */
  readonly isPretty: boolean
}

/**
 * `perpscope probe URL`: checks a service from outside at an interval until it is ended, or once. @returns whether all
 * checks of the last round passed
 * @throws UsageError if `--buy` and `--key-file` are not given together. @throws OperatingError if the port is in use
 */
export async function probe(base: string, options: ProbeOptions, shell: Shell): Promise<boolean> {
  const times = { nowMs: () => systemClock.nowMs(), monotonicMs }
  const purchases = await purchasesOf(base, options, times)
  const registry = new Registry()
  const metrics = new ProbeMetrics(registry, () => purchases?.spentUsd ?? 0)
  const server =
    options.metricsPort === undefined
      ? null
      : await metricsServer(registry, options.metricsHost, options.metricsPort)
  const window = new CheckWindow()

  const round = async () => {
    const results: CheckResult[] = []
    const note = (result: CheckResult) => {
      results.push(result)
      const figures = window.add(result)
      metrics.add(result)
      if (!shell.isPretty) shell.write(`${reportLine(figures)}\n`)
    }
    note(await freeCheck('health', `${base}/health`, judgeHealth, times))
    if (options.quote !== 'off')
      note(await freeCheck('quote', base + slashed(options.quote), judgeQuote, times))
    if (purchases !== null) note(await purchases.check())
    metrics.setCertificateEnd(await certificateEnd(base))
    if (shell.isPretty) shell.write(`${reportTable(base, window.figures())}\n`)
    return results.every(({ outcome }) => outcome !== 'failed')
  }

  for (;;) {
    const isWell = await round()
    if (options.once === true) {
      server?.close()
      return isWell
    }
    await new Promise<void>((resolve) => systemClock.after(options.interval * 1_000, resolve))
  }
}

async function purchasesOf(
  url: string,
  { buy: path, keyFile, budget, payee, solanaRpcUrl }: ProbeOptions,
  times: ConstructorParameters<typeof PurchaseChecks>[1],
): Promise<PurchaseChecks | null> {
  if (path === undefined && keyFile === undefined) return null
  if (path === undefined || keyFile === undefined)
    throw new UsageError('--buy and --key-file are given together')
  const [{ keysIn, payableBy }, { buyerWallet }] = await Promise.all([
    import('./buyer-keys.ts'),
    import('./buyer-wallet.ts'),
  ])
  const keys = keysIn(keyFile, solanaRpcUrl)
  const wallet = await buyerWallet(keys)
  const pay = (quote: PaymentRequired): Promise<PaymentPayload> =>
    wallet.createPaymentPayload({ ...quote, accepts: [payableBy(keys, quote)] })
  return new PurchaseChecks(
    { url, path: slashed(path), budgetUsd: budget, payees: payee, pay },
    times,
  )
}

function slashed(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}
