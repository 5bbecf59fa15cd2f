import { x402Client } from '@x402/core/client'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { recoverTypedDataAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import type { TransferAuthorization } from './authorization.ts'
import { authorizationOf, typedDataOf } from './authorization.ts'

const terms = {
  scheme: 'exact',
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  amount: '25000',
  payTo: '0x00000000000000000000000000000000000000A1',
  maxTimeoutSeconds: 120,
  extra: { name: 'USD Coin', version: '2' },
} as const

test('the typed data are those that the public client signs', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
  const quote: PaymentRequired = {
    x402Version: 2,
    resource: { url: 'https://api.example.com/pulse/BTC' },
    accepts: [terms],
  }
  const { payload } = await client.createPaymentPayload(quote)
  const { authorization, signature } = payload as {
    authorization: TransferAuthorization
    signature: `0x${string}`
  }
  const { message, ...typed } = typedDataOf(terms, authorization)
  const signer = await recoverTypedDataAddress({
    ...typed,
    domain: {
      ...typed.domain,
      chainId: BigInt(typed.domain.chainId),
      verifyingContract: terms.asset,
    },
    message: {
      from: account.address,
      to: terms.payTo,
      value: BigInt(message.value),
      validAfter: BigInt(message.validAfter),
      validBefore: BigInt(message.validBefore),
      nonce: message.nonce,
    },
    signature,
  })
  expect(signer).toBe(account.address)
})

test('the transfer pays the terms and ends when they require', () => {
  const nowMs = Date.UTC(2026, 0, 1)
  const nonce = `0x${'ab'.repeat(32)}` as const
  const from = '0x00000000000000000000000000000000000000B2'
  expect(authorizationOf(terms, from, { nowMs, nonce })).toEqual({
    from,
    to: terms.payTo,
    value: '25000',
    validAfter: String(nowMs / 1_000 - 600),
    validBefore: String(nowMs / 1_000 + 120),
    nonce,
  })
})
