import { pathToFileURL } from 'node:url'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import type { FailedFee } from '../../src/payment/solana/local-solana-facilitator.ts'
import type { SolanaBuyer } from '../../src/payment/solana/testing/solana-buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { buy, FUNDS, solanaRig } from '../support/solana-rig.ts'
import { measureRecovery } from './recovery.ts'

/**
 * Wallets on Solana that are emptied between the simulation and the transaction:
 * `node_modules/.bin/tsx test/attacks/fees.ts` prints the costs of attackers and service.
 */
export type FeeAttack = {
  readonly requests: number
  readonly statuses: Readonly<Record<number, number>>
  readonly reasons: ReadonlySet<string>
  /** Fees of the attackers for emptying their wallets: one signature each time. */
  readonly attackerLamports: bigint
  readonly ourLamports: bigint
  readonly failures: readonly FailedFee[]
  /** `idleMs`: see `measureRecovery`. */
  readonly honest: {
    readonly idleMs: number
    readonly duringMs: number
    readonly bought: number
    readonly recovered: boolean
  }
}

const SIGNATURE_LAMPORTS = 5_000n
/** Approximate time of a cluster. */
const CONFIRMATION_MS = 400
const PURCHASES_IDLE = 5
/** More than the honest buyer spends. */
const HONEST_FUNDS = 10n * FUNDS

/** @param wallets number of wallets. @param requestsEach sequential requests of each */
export async function drainAttack(wallets: number, requestsEach: number): Promise<FeeAttack> {
  const chain = await startSolanaChain({ clock: systemClock, confirmationMs: CONFIRMATION_MS })
  const rig = solanaRig(chain)
  const { facilitator: feePayer } = chain.accounts
  const ledger = new SqliteLedger(':memory:')
  const failed: FailedFee[] = []
  const { failures } = ledger
  const facilitator = rig.facilitator({ failures, onFailedFee: (fee) => failed.push(fee) })
  let drains = 0
  let victim: SolanaBuyer | null = null
  const host = await rig.hosted({
    ledger,
    methods: [rig.method(facilitator, { failures })],
    // Moves the money after verification, while the handler runs.
    atWork: async () => {
      if (victim === null) return
      drains += 1
      chain.fundUsdc(victim.address, -chain.balanceOf(victim.address))
    },
  })
  try {
    const honest = rig.fundedBuyer(HONEST_FUNDS)
    const purchase = async () => {
      const beganMs = performance.now()
      const { status, text } = await buy(host, await rig.paymentOf(honest))
      if (status !== 200) throw new Error(`an honest buyer got ${status}: ${text}`)
      return performance.now() - beganMs
    }
    const medianIdleMs = async () => {
      const tookMs: number[] = []
      for (let index = 0; index < PURCHASES_IDLE; index += 1) tookMs.push(await purchase())
      return median(tookMs)
    }
    const idleBeforeMs = await medianIdleMs()
    const during: number[] = []
    const statuses: Record<number, number> = {}
    const reasons = new Set<string>()
    const before = chain.lamportsOf(feePayer.address)
    for (let wallet = 0; wallet < wallets; wallet += 1) {
      const attacker = rig.fundedBuyer()
      victim = attacker
      for (let count = 0; count < requestsEach; count += 1) {
        const refill = FUNDS - chain.balanceOf(attacker.address)
        chain.fundUsdc(attacker.address, refill)
        // Two payments differ in their memo.
        const payment = await rig.paymentOf(attacker, { memo: `${wallet} ${count}` })
        const [{ status, text }, tookMs] = await Promise.all([
          buy(host, payment, '/slow/BTC'),
          purchase(),
        ])
        during.push(tookMs)
        statuses[status] = (statuses[status] ?? 0) + 1
        reasons.add(JSON.parse(text).diagnostics?.reason ?? text)
      }
    }
    const bought = during.length
    const ours = before - chain.lamportsOf(feePayer.address)
    const { control: idleMs, recovered } = await measureRecovery(idleBeforeMs, medianIdleMs)
    return {
      requests: wallets * requestsEach,
      statuses,
      reasons,
      attackerLamports: BigInt(drains) * SIGNATURE_LAMPORTS,
      // Without the cost of sales to the honest buyer.
      ourLamports: ours - BigInt(bought) * (2n * SIGNATURE_LAMPORTS + 1n),
      failures: failed,
      honest: { idleMs, duringMs: median(during), bought, recovered },
    }
  } finally {
    await host.close()
    await chain.close()
  }
}

export function feeReportOf(attack: FeeAttack): string {
  const { requests, statuses, attackerLamports, ourLamports, honest } = attack
  const answers = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  return (
    `emptied wallets on Solana: ${requests} requests (${answers.join(', ')}); attackers: ${attackerLamports} ` +
    `lamports; we: ${ourLamports} lamports; an honest buyer: ${honest.bought} answers, ` +
    `median ${Math.round(honest.duringMs)} ms, idle ${Math.round(honest.idleMs)} ms`
  )
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(`${feeReportOf(await drainAttack(4, 6))}\n`)
