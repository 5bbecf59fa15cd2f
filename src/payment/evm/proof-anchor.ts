import type { Address, Hex, TransactionReceipt } from 'viem'
import { bytesToHex } from 'viem'
import type { ProofLog } from '../../domain/answer-proof.ts'
import type { Clock } from '../../domain/clock.ts'
import type { NodeClient } from './node-client.ts'
import { receiptOf } from './receipts.ts'
import type { TransactionSender } from './transaction-sender.ts'

export type ProofAnchorOptions = {
  readonly proofs: ProofLog
  /** CAIP-2. */
  readonly network: string
  readonly node: NodeClient
  readonly sender: Pick<TransactionSender, 'send'>
  /** Sends to itself and pays the gas. */
  readonly account: Address
  readonly clock: Clock
  readonly onAnchored: (transaction: string) => void
  /** Receives the receipt of each anchor in a final block. */
  readonly onMined: (receipt: TransactionReceipt) => void
  /** The next attempt follows; sales do not depend on it. */
  readonly onFailure: (cause: unknown) => void
}

const DAY_MS = 86_400_000
const PERIOD_MS = 600_000
/** 21,000 and 40 for each of 32 bytes (EIP-7623), with a margin. */
const GAS_MAX = 30_000n
/** Most that the execution gas of an anchor may cost: 0.0003 ether. The fee of Base for data on Ethereum is not in it. */
const COST_WEI_MAX = 300_000_000_000_000n

/**
 * Sends one transaction a day with the chain value of the newest sealed hour. It covers all earlier hours, so afterwards
 * not even the operator can change them.
 */
export class ProofAnchor {
  readonly #options: ProofAnchorOptions
  #stopTimer = () => {}
  #running: Promise<void> | null = null

  constructor(options: ProofAnchorOptions) {
    this.#options = options
  }

  start(): void {
    this.#stopTimer = this.#options.clock.every(PERIOD_MS, () => void this.run())
  }

  async stop(): Promise<void> {
    this.#stopTimer()
    await this.#running
  }

  /** Sends the anchor of today if it is missing, and updates the open ones. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#attempt()
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#running = null
      })
    return this.#running
  }

  async #attempt(): Promise<void> {
    const { proofs, network, clock } = this.#options
    const day = Math.floor(clock.nowMs() / DAY_MS)
    await this.#resolveOpen(day)
    const hour = await proofs.beginAnchor(day, network)
    if (hour !== null) await this.#send(day, bytesToHex(hour.chain))
  }

  /**
   * An anchor counts once its block is final: a flashblock, and a block of the newest minutes, can be undone. Transactions
   * of a past day that no block has are given up: the anchor of today contains their hours.
   */
  async #resolveOpen(day: number): Promise<void> {
    const { proofs, network, node, onAnchored, onMined } = this.#options
    for (const anchor of await proofs.openAnchors()) {
      const isSent = anchor.network === network && anchor.transaction !== ''
      const receipt = isSent ? await receiptOf(node, anchor.transaction as Hex) : null
      if (receipt?.status !== 'success') {
        if (anchor.day < day) await proofs.cancelAnchor(anchor.day)
        continue
      }
      const final = await node.getBlock({ blockTag: 'finalized' })
      if (receipt.blockNumber > final.number) continue
      await proofs.anchorMined(anchor.day)
      onMined(receipt)
      onAnchored(anchor.transaction)
    }
  }

  /** A transaction that was signed can be on its way after any failure, so the day has no second one. */
  async #send(day: number, data: Hex): Promise<void> {
    const { proofs, sender, account } = this.#options
    let signed: Hex | null = null
    try {
      await sender.send(
        { to: account, data, gas: GAS_MAX },
        {
          untilMined: false,
          costMax: COST_WEI_MAX,
          onSigned: (hash) => {
            signed = hash
          },
        },
      )
    } finally {
      if (signed === null) await proofs.cancelAnchor(day)
      else await proofs.anchorSent(day, signed)
    }
  }
}
