import { randomBytes } from 'node:crypto'
import type { Address, Hex } from 'viem'
import { toHex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { PaymentNetwork } from '../evm/networks.ts'
import { base } from '../evm/networks.ts'
import { newSecret } from './new-secret.ts'

/** Everything about a payment that a test may want to get wrong. */
export type PaymentChoices = {
  readonly amount: bigint
  readonly payTo: Address
  readonly nowMs: number
  readonly version?: 1 | 2
  readonly network?: PaymentNetwork
  readonly scheme?: string
  readonly claimedAsset?: string
  readonly validAfterSeconds?: bigint
  readonly validBeforeSeconds?: bigint
  readonly nonce?: Hex
}

export function newBuyer(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

/** A payment object with a right signature over whatever was chosen. */
export async function signedPayload(buyer: PrivateKeyAccount, choices: PaymentChoices) {
  const { amount, payTo, nowMs, network = base, version = 2, scheme = 'exact' } = choices
  const nowSeconds = BigInt(Math.floor(nowMs / 1_000))
  const message = {
    from: buyer.address,
    to: payTo,
    value: amount,
    validAfter: choices.validAfterSeconds ?? nowSeconds - 600n,
    validBefore: choices.validBeforeSeconds ?? nowSeconds + 120n,
    nonce: choices.nonce ?? toHex(randomBytes(32)),
  }
  const signature = await buyer.signTypedData({
    domain: { ...network.domain, chainId: network.chainId, verifyingContract: network.asset },
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const payload = {
    signature,
    authorization: {
      from: message.from,
      to: message.to,
      value: message.value.toString(),
      validAfter: message.validAfter.toString(),
      validBefore: message.validBefore.toString(),
      nonce: message.nonce,
    },
  }
  if (version === 1) return { x402Version: 1, scheme, network: network.legacyName, payload }
  const accepted = {
    scheme,
    network: network.network,
    asset: choices.claimedAsset ?? network.asset,
    amount: amount.toString(),
    payTo,
    maxTimeoutSeconds: 120,
    extra: network.domain,
  }
  // As clients echo it from a quote.
  const extensions = { 'answer-access': { info: { secret: newSecret() } } }
  return { x402Version: 2, accepted, payload, extensions }
}

export function encodedPayment(payment: unknown): string {
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}
