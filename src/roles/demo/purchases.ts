import { Compile } from 'typebox/compile'
import { RefusedError } from '../../client/errors.ts'
import { platform } from '../../client/platform.ts'
import { isUncharged, readRefusal } from '../../client/refusal.ts'
import { retry } from '../../client/retry.ts'
import { contracts } from '../../compute/analyses/registry.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { pathOf } from '../../domain/contract.ts'
import { parsedJson } from '../../domain/json.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { complain } from './complain.ts'
import type { DemoProgress } from './progress.ts'
import { NotReadyError } from './readiness.ts'
import type { Balances, DemoWallet } from './wallets.ts'

/** Ends or removes what was started. */
export type Cleanup = () => Promise<void>

export type DemoPurchase = {
  readonly analysis: string
  readonly path: string
  readonly network: string
  readonly price_usdc: number
  readonly status: number
  readonly ms: number
  readonly bytes: number
}

/** The purchases so far, also after a failure. */
export type DemoPurchases = {
  ok: boolean
  readonly purchases: DemoPurchase[]
  readonly transfers: Transfers[]
}

type Transfers = {
  readonly network: string
  readonly paidAtomic: bigint
  readonly receivedAtomic: bigint
  readonly after: Balances
}

/** Where the demo buys. */
export type Shop = {
  /** Take turns. */
  readonly wallets: readonly DemoWallet[]
  readonly url: string
  /** Resolves as soon as an analysis is sold. @throws NotReadyError */
  whenReady(contract: AnalysisContract): Promise<void>
}

/** Buys every analysis once, alternating between the chains and between x402 versions 2 and 1. */
export async function buyEverything(
  coin: string,
  shop: Shop,
  progress: DemoProgress,
  bought: DemoPurchases,
  before: (at: number) => Promise<void>,
): Promise<void> {
  const { wallets } = shop
  const balances = await Promise.all(wallets.map((wallet) => wallet.balances()))
  const paidAtomic = wallets.map(() => 0n)
  let areValid = true
  for (const [at, contract] of contracts.entries()) {
    await before(at)
    progress.stage(`buying ${contract.id}`)
    const turn = at % wallets.length
    const round = Math.floor(at / wallets.length)
    const payingFetch = wallets[turn]?.[round % 2 === 0 ? 'v2' : 'v1'] ?? fetch
    const { purchase, isValid } = await buy(pathOf(contract, coin), contract, shop, payingFetch)
    bought.purchases.push(purchase)
    areValid &&= isValid
    if (purchase.status === 200)
      paidAtomic[turn] = (paidAtomic[turn] ?? 0n) + contract.priceUsdcAtomic
  }
  for (const [turn, wallet] of wallets.entries()) {
    const after = await wallet.balances()
    const receivedAtomic = after.seller - (balances[turn]?.seller ?? 0n)
    const { network } = wallet
    bought.transfers.push({ network, paidAtomic: paidAtomic[turn] ?? 0n, receivedAtomic, after })
  }
  bought.ok =
    areValid &&
    bought.transfers.every(({ paidAtomic: paid, receivedAtomic }) => paid === receivedAtomic)
}

async function buy(
  path: string,
  contract: AnalysisContract,
  { url, whenReady }: Shop,
  payingFetch: typeof fetch,
): Promise<{ readonly purchase: DemoPurchase; readonly isValid: boolean }> {
  const startedAtMs = performance.now()
  let answered = { network: 'none', status: 0, bytes: 0 }
  let isValid = false
  try {
    const attempt = async () => {
      const response = await payingFetch(url + path)
      const body = await response.text()
      answered = {
        network: networkOf(response.headers.get('payment-response')),
        status: response.status,
        bytes: Buffer.byteLength(body),
      }
      if (response.status !== 200) throw readRefusal(parsedJson(body)) ?? new TypeError(body)
      isValid = Compile(contract.document).Check(JSON.parse(body))
    }
    await retry(attempt, isTemporary, async (ms) => {
      await platform.wait(ms)
      // The next engine of a slow machine takes longer than all attempts.
      await whenReady(contract)
    })
  } catch (cause) {
    // Every other purchase would wait as long.
    if (cause instanceof NotReadyError) throw cause
    complain(path, cause)
  }
  const purchase = {
    analysis: contract.id,
    path,
    network: answered.network,
    price_usdc: Number(usdcDecimal(contract.priceUsdcAtomic)),
    status: answered.status,
    ms: Math.round(performance.now() - startedAtMs),
    bytes: answered.bytes,
  }
  return { purchase, isValid }
}

/** As after the loss of an engine. */
function isTemporary(cause: unknown): boolean {
  return cause instanceof RefusedError && cause.problem.retryable && isUncharged(cause)
}

function networkOf(receipt: string | null): string {
  if (receipt === null) return 'none'
  return (JSON.parse(Buffer.from(receipt, 'base64').toString()) as { network: string }).network
}
