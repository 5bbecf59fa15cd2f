import { createHash } from 'node:crypto'
import type { Address } from '@solana/addresses'
import { isSignature } from '@solana/keys'
import type {
  PayeeChain,
  PayeeTransfer,
  ReadTransfers,
  TransactionFate,
  TransferDetails,
} from '../ledger/chain-comparison.ts'
import type { ReportedPayment, ReportRange } from '../ledger/ledger-books.ts'
import type { PatientNode } from '../patient-node.ts'
import type { SolanaNetwork } from './networks.ts'
import type { ListedTransaction, SolanaNode, TokenChanges } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'

export type SolanaPayeeOptions = {
  readonly network: SolanaNetwork
  readonly payTo: Address
  readonly node: SolanaNode
  readonly patience: PatientNode
}

/** Of one request, the most that nodes allow. */
const SIGNATURES_MAX = 1_000
const TRANSACTIONS_AT_ONCE = 8
const SIGNATURE_BYTES = 64

/** Transfers of USDC to a payee on Solana, by the finalized transactions that name its token account. */
export function solanaPayeeTransfers(options: SolanaPayeeOptions): PayeeChain {
  const { network, payTo, node, patience } = options
  const details = new Map<PayeeTransfer, TransferDetails>()
  const signatures = new Set<string>()

  /** Of the period and its margin, newest first. */
  async function listed(sinceMs: number, untilMs: number): Promise<readonly ListedTransaction[]> {
    const account = await associatedTokenAccount(payTo, network.asset)
    const found: ListedTransaction[] = []
    for (let before: string | null = null; ; ) {
      const page: readonly ListedTransaction[] = await patience.ask(() =>
        node.finalSignaturesFor(account, SIGNATURES_MAX, before),
      )
      for (const one of page) if (isBetween(one, sinceMs, untilMs)) found.push(one)
      const last = page.at(-1)
      if (last === undefined || (last.atMs !== null && last.atMs < sinceMs)) return found
      before = last.signature
    }
  }

  async function changesOf(signature: string): Promise<TokenChanges> {
    return patience.ask(async () => {
      const changes = await node.tokenChanges(signature, network.asset)
      if (changes === null) throw new Error('a listed transaction cannot be read')
      return changes
    })
  }

  return {
    network: network.network,
    payTo,

    async read({ sinceMs, untilMs }: ReportRange, marginMs: number): Promise<ReadTransfers> {
      const final = await patience.ask(() => node.finalBlock())
      const all = await listed(sinceMs - marginMs, untilMs + marginMs)
      const landed = all.filter(({ err }) => err === null)
      for (let at = 0; at < landed.length; at += TRANSACTIONS_AT_ONCE) {
        const some = landed.slice(at, at + TRANSACTIONS_AT_ONCE)
        const changes = await Promise.all(some.map(({ signature }) => changesOf(signature)))
        for (const [index, one] of some.entries()) add(one, changes[index] as TokenChanges)
      }
      const transfers = [...details.keys()]
      return { transfers, firstBlock: 0, lastBlock: final.slot, finalMs: final.atMs }

      function add({ signature, atMs }: ListedTransaction, { bytes, changes }: TokenChanges): void {
        const amount = changes.get(payTo) ?? 0n
        signatures.add(signature)
        if (amount <= 0n) return
        const timeMs = atMs ?? final.atMs
        const transfer: PayeeTransfer = {
          ...{ transaction: signature, payer: payerIn(changes), amount },
          isInPeriod: timeMs >= sinceMs && timeMs < untilMs,
          isChannelPayout: false,
        }
        details.set(transfer, { atMs: timeMs, nonce: nonceOf(bytes) })
      }
    },

    async detailsOf(transfer: PayeeTransfer): Promise<TransferDetails> {
      const found = details.get(transfer)
      if (found === undefined) throw new TypeError('a transfer of this chain has details')
      return found
    },

    async fateOf({ transaction, payer, amount }: ReportedPayment): Promise<TransactionFate> {
      // A facilitator can report anything.
      if (transaction === null || !isSignature(transaction)) return 'absent'
      const found = await patience.ask(() => node.tokenChanges(transaction, network.asset))
      if (found === null) return 'absent'
      if (found.err !== null) return 'failed'
      const { changes } = found
      if (changes.get(payTo) !== amount || changes.get(payer) !== -amount) return 'other'
      return signatures.has(transaction) ? 'paid_within' : 'paid_outside'
    },
  }
}

/** The owner that gave most. */
function payerIn(changes: ReadonlyMap<string, bigint>): string {
  const [[owner] = ['']] = [...changes].sort(([, one], [, other]) => (one < other ? -1 : 1))
  return owner
}

/** The name of a payment in the ledger: the hash of its message. */
function nonceOf(bytes: Buffer): string {
  const message = bytes.subarray(1 + (bytes[0] ?? 0) * SIGNATURE_BYTES)
  return createHash('sha256').update(message).digest('hex')
}

/** A transaction without a time is read, and counts as new. */
function isBetween({ atMs }: ListedTransaction, sinceMs: number, untilMs: number): boolean {
  return atMs === null || (atMs >= sinceMs && atMs < untilMs)
}
