import { InMemoryPendingSettlementStore } from '@x402/core/facilitator'
import type { SettleResponse } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import type { Abi, Hex, VerifyTypedDataParameters } from 'viem'
import {
  BaseError,
  createPublicClient,
  defineChain,
  ExecutionRevertedError,
  encodeFunctionData,
  HttpRequestError,
  http,
  RpcRequestError,
  TimeoutError,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { nodeReason, nodeSays } from '../node-error.ts'
import type { Facilitator, Outcome, Settlement, Verification } from '../payment.ts'
import { chainOutcome } from './chain-outcome.ts'
import type { ExactEvmPayment } from './exact-evm.ts'
import type { PaymentNetwork } from './networks.ts'
import { TransactionSender } from './transaction-sender.ts'

export type LocalFacilitatorOptions = {
  readonly network: PaymentNetwork
  readonly rpcUrl: string
  /** Pays the gas. Must not be the payee's key. */
  readonly privateKey: Hex
}

/** A fraction of Base's 200 ms flashblocks and 2 s blocks: the wait for a receipt is latency sold. */
const POLLING_MS = 100
const RPC_MS_MAX = 5_000
/** Below the bound of the caller, so that it learns the hash of what is pending. */
const CONFIRMATION_MS_MAX = 8_000
/** Code of a JSON-RPC error that is the contract's verdict. */
const EXECUTION_REVERTED = 3

/** What happened beneath the SDK during one call. It reports each of these as a wrong payment. */
type Trace = {
  /** A request to the node got no answer. */
  unanswered: boolean
  /** The chain refused to execute the transfer. */
  reverted: boolean
  /** The node would not have our transaction, for a reason that leaves no doubt. */
  turnedAway: boolean
  /** Signed, and perhaps broadcast. */
  transaction: Hex | null
  /** What went wrong last, in the node's words. The SDK's own message would name the node's URL. */
  fault: string | null
}

/** Verifies and settles in this process, against one chain, with the SDK's own EVM mechanism. */
export function localFacilitator(options: LocalFacilitatorOptions): Facilitator<ExactEvmPayment> {
  const { network, rpcUrl, privateKey } = options
  const account = privateKeyToAccount(privateKey)
  const client = createPublicClient({
    chain: defineChain({
      id: network.chainId,
      name: network.legacyName,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    }),
    // No retries: a broadcast that was sent twice would report the first one's success as an error.
    transport: http(rpcUrl, { timeout: RPC_MS_MAX, retryCount: 0 }),
    pollingInterval: POLLING_MS,
  })
  const sender = new TransactionSender(client, account)
  const pendingSettlementStore = new InMemoryPendingSettlementStore()

  /** A mechanism for one call, so that its trace is its own. */
  function traced(): { readonly scheme: ExactEvmScheme; readonly trace: Trace } {
    const trace: Trace = {
      unanswered: false,
      reverted: false,
      turnedAway: false,
      transaction: null,
      fault: null,
    }
    const watched = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work
      } catch (cause) {
        if (isUnanswered(cause)) trace.unanswered = true
        if (isRevert(cause)) trace.reverted = true
        if (isTurnedAway(cause)) trace.turnedAway = true
        trace.fault = nodeReason(cause)
        throw cause
      }
    }
    /**
     * Never rejects: the SDK starts one of these beside its other checks and forgets it when they fail,
     * and a rejection that nobody awaits would end the process. "No code" is what it refuses a payment
     * for, which `unanswered` then turns into a fault of ours.
     */
    const getCode = async (args: { readonly address: Hex }): Promise<Hex | undefined> => {
      try {
        return await client.getCode(args)
      } catch (cause) {
        trace.unanswered = true
        trace.fault = nodeReason(cause)
        return undefined
      }
    }
    const send = (to: Hex, data: Hex) =>
      watched(
        sender.send({ to, data }, (hash) => {
          trace.transaction = hash
        }),
      )
    const signer = toFacilitatorEvmSigner(
      {
        address: account.address,
        getCode,
        readContract: (args) => watched(client.readContract({ ...args, abi: abiOf(args.abi) })),
        verifyTypedData: (args) =>
          watched(client.verifyTypedData(args as VerifyTypedDataParameters)),
        waitForTransactionReceipt: (args) => watched(client.waitForTransactionReceipt(args)),
        sendTransaction: ({ to, data }) => send(to, data),
        writeContract: ({ address, abi, functionName, args }) =>
          send(address, encodeFunctionData({ abi: abiOf(abi), functionName, args: [...args] })),
      },
      { confirmationTimeoutMs: CONFIRMATION_MS_MAX },
    )
    return { scheme: new ExactEvmScheme(signer, { pendingSettlementStore }), trace }
  }

  return {
    async verify(payment): Promise<Verification> {
      const { scheme, trace } = traced()
      try {
        const answer = await scheme.verify(payment.wire, payment.requirement.wire)
        if (answer.isValid) return { kind: 'valid' }
        const reason = answer.invalidReason ?? 'unexpected_verify_error'
        return trace.unanswered
          ? { kind: 'unreachable', reason: trace.fault ?? reason }
          : { kind: 'invalid', reason }
      } catch (cause) {
        return { kind: 'unreachable', reason: nodeReason(cause) }
      }
    },

    async settle(payment: ExactEvmPayment): Promise<Settlement> {
      const { scheme, trace } = traced()
      try {
        const answer = await scheme.settle(payment.wire, payment.requirement.wire)
        return settlementOf(answer, trace)
      } catch (cause) {
        return trace.transaction === null
          ? { kind: 'unreachable', reason: nodeReason(cause) }
          : { kind: 'unknown', reason: nodeReason(cause), transaction: trace.transaction }
      }
    },

    outcome: (payment): Promise<Outcome> => chainOutcome(client, payment),
  }
}

function settlementOf(answer: SettleResponse, trace: Trace): Settlement {
  if (answer.success) return { kind: 'settled', transaction: answer.transaction }
  const reason = answer.errorReason ?? 'unexpected_settle_error'
  const fault = trace.fault ?? reason
  if (reason === 'settlement_pending') {
    return { kind: 'unknown', reason, transaction: answer.transaction }
  }
  if (trace.transaction !== null) {
    // Mined and reverted is definite, and so is what a node turned away. Anything else that it says may
    // come from behind it, after the transaction was passed on.
    if (answer.transaction !== '') return { kind: 'rejected', reason }
    return trace.turnedAway
      ? { kind: 'unreachable', reason: fault }
      : { kind: 'unknown', reason: fault, transaction: trace.transaction }
  }
  if (trace.unanswered) return { kind: 'unreachable', reason: fault }
  // Without a revert the failure is ours, for example no gas money: the buyer did nothing wrong.
  return trace.reverted || !reason.endsWith('transaction_failed')
    ? { kind: 'rejected', reason }
    : { kind: 'unreachable', reason: fault }
}

/** The node gave no answer, or none that says anything about the payment. */
function isUnanswered(cause: unknown): boolean {
  return finds(
    cause,
    (error) =>
      error instanceof HttpRequestError ||
      error instanceof TimeoutError ||
      (error instanceof RpcRequestError &&
        error.code !== EXECUTION_REVERTED &&
        !nodeSays(error, /revert/i)),
  )
}

/**
 * "Nonce too low" is not among them: it is also what a provider hears that sends a transaction once more
 * after the first one was mined.
 */
function isTurnedAway(cause: unknown): boolean {
  return nodeSays(cause, /insufficient funds|underpriced|intrinsic gas|invalid sender/i)
}

function isRevert(cause: unknown): boolean {
  return finds(cause, (error) => error instanceof ExecutionRevertedError)
}

function finds(cause: unknown, test: (error: unknown) => boolean): boolean {
  return cause instanceof BaseError && cause.walk(test) !== null
}

/** The SDK types its ABIs as lists of anything. */
function abiOf(abi: readonly unknown[]): Abi {
  return abi as Abi
}
