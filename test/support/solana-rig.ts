import type { Clock } from '../../src/domain/clock.ts'
import type { Facilitator } from '../../src/payment/payment.ts'
import type {
  ExactSolanaOptions,
  ExactSolanaPayment,
} from '../../src/payment/solana/exact-solana.ts'
import { exactSolana } from '../../src/payment/solana/exact-solana.ts'
import { readFeePayer } from '../../src/payment/solana/fee-payer-key.ts'
import type { LocalSolanaFacilitatorOptions } from '../../src/payment/solana/local-solana-facilitator.ts'
import { localSolanaFacilitator } from '../../src/payment/solana/local-solana-facilitator.ts'
import { solanaMainnet } from '../../src/payment/solana/networks.ts'
import type {
  SolanaBuyer,
  SolanaPaymentChoices,
} from '../../src/payment/solana/testing/solana-buyer.ts'
import {
  newSolanaBuyer,
  signedTransfer,
  solanaPayload,
} from '../../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment } from '../../src/payment/testing/buyer.ts'
import type { PaidHost, PaidHostOptions } from '../../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../../src/payment/testing/paid-host.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { SolanaChain } from '../../src/simulator/solana/solana-chain.ts'

export const FUNDS = 1_000_000n

type Choices = Partial<SolanaPaymentChoices> & { readonly x402Version?: 1 | 2 }

/**
 * Payments on a local chain, and a host that accepts them.
 * @param waits of its facilitators
 */
export function solanaRig(chain: SolanaChain, waits: Clock = systemClock) {
  const { facilitator: payer, merchant } = chain.accounts
  const feePayer = readFeePayer(JSON.stringify([...payer.seed]))

  const facilitator = (changes: Partial<LocalSolanaFacilitatorOptions> = {}) =>
    localSolanaFacilitator({ rpcUrl: chain.rpcUrl, feePayer, clock: waits, ...changes })

  const method = (
    settler: Facilitator<ExactSolanaPayment>,
    choices: Partial<
      Pick<ExactSolanaOptions, 'clock' | 'feePayer' | 'failures' | 'solUsdMax'>
    > = {},
  ) =>
    exactSolana({
      network: solanaMainnet,
      payTo: merchant.address,
      feePayer: payer.address,
      facilitator: settler,
      clock: systemClock,
      ...choices,
    })

  const fundedBuyer = (funds = FUNDS): SolanaBuyer => {
    const buyer = newSolanaBuyer()
    chain.fundUsdc(buyer.address, funds)
    return buyer
  }

  const sign = async (buyer: SolanaBuyer, choices: Choices = {}) => {
    const all = {
      amount: PRICE,
      payTo: merchant.address,
      feePayer: payer.address,
      blockhash: await latestBlockhash(chain),
      ...choices,
    }
    return { ...all, transaction: await signedTransfer(buyer, all) }
  }

  const paymentOf = async (buyer: SolanaBuyer, choices: Choices = {}) => {
    const { transaction, ...all } = await sign(buyer, choices)
    return encodedPayment(solanaPayload(transaction, all))
  }

  /** The payment as decoded by the service. */
  const read = async (buyer: SolanaBuyer, settler = facilitator(), choices: Choices = {}) => {
    const { transaction, amount } = await sign(buyer, choices)
    const way = method(settler)
    const wire = {
      ...{ scheme: 'exact', network: way.network, amount: amount.toString() },
      ...{ asset: way.asset, payTo: way.payTo, maxTimeoutSeconds: 60, extra: way.extra },
    }
    const requirement = { method: way, amount, wire }
    return way.read({ transaction }, { requirement, resourceUrl: 'https://api.example.com/x' })
  }

  return {
    facilitator,
    method,
    read,
    fundedBuyer,
    sign,
    paymentOf,
    /** What a buyer has paid so far. */
    spent: (buyer: SolanaBuyer) => FUNDS - chain.balanceOf(buyer.address),
    received: () => chain.balanceOf(merchant.address),
    hosted: (options: Partial<PaidHostOptions> = {}, settler = facilitator()): Promise<PaidHost> =>
      startPaidHost({
        payTo: merchant.address,
        facilitator: unasked,
        methods: [method(settler)],
        clock: systemClock,
        ...options,
      }),
  }
}

/** Buys with the version 1 header, which both versions of the inner payload allow. */
export async function buy(
  host: PaidHost,
  payment: string,
  path = '/pulse/BTC',
  header = 'x-payment',
) {
  const response = await fetch(host.url + path, { headers: { [header]: payment } })
  const { status, headers } = response
  const text = await response.text()
  return { status, headers, text, problem: () => JSON.parse(text) }
}

export function receiptIn(headers: Headers, name = 'payment-response') {
  return JSON.parse(Buffer.from(headers.get(name) ?? '', 'base64').toString())
}

/** A request to the chain's own node. */
async function askNode(chain: SolanaChain, method: string, params: readonly unknown[] = []) {
  const response = await fetch(chain.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as { result?: never; error?: { code: number; message: string } }
}

async function latestBlockhash(chain: SolanaChain): Promise<string> {
  const { result } = await askNode(chain, 'getLatestBlockhash')
  return (result as unknown as { value: { blockhash: string } }).value.blockhash
}

const unaskedCall = () => Promise.reject(new Error('no payment on another chain is expected'))
const unasked = { verify: unaskedCall, settle: unaskedCall, outcome: unaskedCall }
