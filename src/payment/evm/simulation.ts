import type { Address, Hex } from 'viem'
import { decodeFunctionResult, encodeFunctionData } from 'viem'
import { nodeReason, nodeSays } from '../node-error.ts'
import type { Verification } from '../payment.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import { revertReason } from './node-answer.ts'
import type { NodeClient } from './node-client.ts'
import { tokenAbi } from './token-abi.ts'
import type { Call } from './transfer.ts'
import { MULTICALL3, multicallAbi, transferCall } from './transfer.ts'

const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
const INSUFFICIENT = 'insufficient_funds'

/** The words of FiatToken 2.2, and the x402 codes that say the same. */
const codes = [
  [/used or canceled/i, NONCE_USED],
  [/exceeds balance/i, INSUFFICIENT],
  [/expired/i, 'invalid_exact_evm_payload_authorization_valid_before'],
  [/not yet valid/i, 'invalid_exact_evm_payload_authorization_valid_after'],
  [/invalid signature|ECRecover/i, 'invalid_exact_evm_payload_signature'],
] as const
/** Nobody can pay: no fault of this payment. */
const PAUSED = /paused/i
const NO_CODE = 'invalid_exact_evm_transaction_simulation_failed'

/** Asks a node whether the chain would carry out payments now, by executing them there for nothing. */
export class Simulation {
  readonly #node: NodeClient
  /** Who will send the transfers. */
  readonly #sender: Address
  /** With what waits for its block, where the node can tell. */
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

  async #refused(payment: ExactEvmPayment, words: string): Promise<Verification> {
    if (PAUSED.test(words)) return { kind: 'unreachable', reason: 'the token is paused' }
    const known = codes.find(([pattern]) => pattern.test(words))?.[1]
    if (known !== undefined) return { kind: 'invalid', reason: known }
    try {
      return { kind: 'invalid', reason: await this.#likelyReason(payment) }
    } catch (cause) {
      // Were the nonce used for us, then "invalid" would make the buyer pay twice.
      return { kind: 'unreachable', reason: nodeReason(cause) }
    }
  }

  /** For nodes that repeat nothing of what the contract said. */
  async #likelyReason({ authorization, chain }: ExactEvmPayment): Promise<string> {
    const { from, nonce, value } = authorization
    const abi = tokenAbi
    const questions = [
      encodeFunctionData({ abi, functionName: 'authorizationState', args: [from, nonce] }),
      encodeFunctionData({ abi, functionName: 'balanceOf', args: [from] }),
    ]
    const functionName = 'aggregate3'
    const calls = questions.map((callData) => ({
      target: chain.asset,
      allowFailure: false,
      callData,
    }))
    const data = encodeFunctionData({ abi: multicallAbi, functionName, args: [calls] })
    const answer = await this.#call({ to: MULTICALL3, data })
    const [state, balance] = decodeFunctionResult({ abi: multicallAbi, functionName, data: answer })
    if (BigInt(state?.returnData ?? 0) !== 0n) return NONCE_USED
    return BigInt(balance?.returnData ?? 0) < value ? INSUFFICIENT : NO_CODE
  }

  async #call({ to, data, gas }: Omit<Call, 'gas'> & Partial<Call>): Promise<Hex> {
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
