import type { Address, Hex } from 'viem'
import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { nodeReason, nodeSays } from '../node-error.ts'
import type { Verification } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { revertReason } from './node-answer.ts'
import type { NodeClient } from './node-client.ts'
import { tokenAbi } from './token-abi.ts'
import type { ContractCall } from './transfer.ts'
import { MULTICALL3_ADDRESS, multicallAbi, transferCall } from './transfer.ts'

const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
const INSUFFICIENT = 'insufficient_funds'

/** Revert reasons of FiatToken 2.2 and their x402 codes. */
const codes = [
  [/used or canceled/i, NONCE_USED],
  [/exceeds balance/i, INSUFFICIENT],
  [/expired/i, 'invalid_exact_evm_payload_authorization_valid_before'],
  [/not yet valid/i, 'invalid_exact_evm_payload_authorization_valid_after'],
  [/invalid signature|ECRecover/i, 'invalid_exact_evm_payload_signature'],
] as const
/** Affects all payments, so the payment is not invalid. */
const PAUSED = /paused/i
const NO_CODE = 'invalid_exact_evm_transaction_simulation_failed'

/** Whether the nonce was used and whether the balance covers the amount. */
type Holding = { readonly isUsed: boolean; readonly isCovered: boolean }

/** Simulates transfers by `eth_call`. */
export class TransferSimulation {
  readonly #node: NodeClient
  /** Sender of the transfers. */
  readonly #sender: Address
  /** `pending` includes waiting transactions, if the node supports it. */
  #blockTag: 'pending' | 'latest' = 'pending'

  constructor(node: NodeClient, sender: Address) {
    this.#node = node
    this.#sender = sender
  }

  async verify(payment: ExactEvmPayment): Promise<Verification> {
    try {
      await this.#call(transferCall(payment))
      return { kind: 'valid' }
    } catch (cause) {
      const reason = revertReason(cause)
      return reason === null
        ? { kind: 'unreachable', reason: nodeReason(cause) }
        : this.#refused(payment, reason)
    }
  }

  /** Checks the balances of all payers in one request. */
  async screen(payments: readonly ExactEvmPayment[]): Promise<readonly Verification[]> {
    const holdings = await this.#holdings(payments)
    return holdings.map(({ isUsed, isCovered }) =>
      // A settled payment lowers the balance; its own verification finds out whether it paid us.
      isUsed || isCovered ? { kind: 'valid' } : { kind: 'invalid', reason: INSUFFICIENT },
    )
  }

  async #refused(payment: ExactEvmPayment, words: string): Promise<Verification> {
    if (PAUSED.test(words)) return { kind: 'unreachable', reason: 'the token is paused' }
    const known = codes.find(([pattern]) => pattern.test(words))?.[1]
    if (known !== undefined) return { kind: 'invalid', reason: known }
    try {
      return { kind: 'invalid', reason: await this.#likelyReason(payment) }
    } catch (cause) {
      // If the nonce was used for us, "invalid" would make the buyer pay twice.
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
  }

  /** For nodes that omit the revert reason. */
  async #likelyReason(payment: ExactEvmPayment): Promise<string> {
    const [holding] = await this.#holdings([payment])
    if (holding?.isUsed) return NONCE_USED
    return holding?.isCovered ? NO_CODE : INSUFFICIENT
  }

  async #holdings(payments: readonly ExactEvmPayment[]): Promise<readonly Holding[]> {
    const abi = tokenAbi
    const calls = payments.flatMap(({ authorization: { from, nonce }, chain }) =>
      [
        encodeFunctionData({ abi, functionName: 'authorizationState', args: [from, nonce] }),
        encodeFunctionData({ abi, functionName: 'balanceOf', args: [from] }),
      ].map((callData) => ({ target: chain.asset, allowFailure: false, callData })),
    )
    const functionName = 'aggregate3'
    const data = encodeFunctionData({ abi: multicallAbi, functionName, args: [calls] })
    const answer = await this.#call({ to: MULTICALL3_ADDRESS, data })
    const results = decodeFunctionResult({ abi: multicallAbi, functionName, data: answer })
    return payments.map(({ authorization: { value } }, index) => {
      const [state, balance] = results.slice(2 * index, 2 * index + 2)
      return {
        isUsed: BigInt(state?.returnData ?? 0) !== 0n,
        isCovered: BigInt(balance?.returnData ?? 0) >= value,
      }
    })
  }

  async #call({ to, data, gas }: Omit<ContractCall, 'gas'> & Partial<ContractCall>): Promise<Hex> {
    const limit = gas === undefined ? {} : { gas: `0x${gas.toString(16)}` as const }
    const transaction = { from: this.#sender, to, data, ...limit }
    const ask = () =>
      this.#node.request({ method: 'eth_call', params: [transaction, this.#blockTag] })
    try {
      return await ask()
    } catch (cause) {
      if (this.#blockTag === 'latest' || !nodeSays(cause, /pending/i)) throw cause
      this.#blockTag = 'latest'
      return ask()
    }
  }
}
