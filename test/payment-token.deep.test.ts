import type { Hex } from 'viem'
import {
  createTestClient,
  http,
  parseAbi,
  parseSignature,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { base } from '../src/payment/evm/networks.ts'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { startAnvil } from '../src/simulator/evm/anvil-process.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { minedReceipt } from './support/mined-receipt.ts'
import { putUsdc } from './support/usdc-balance.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const abi = parseAbi([
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function mint(address to, uint256 value)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])
const transferWithVrs = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])
const transferWithBytes = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

let chain: EvmChain

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})

afterAll(() => chain?.close())

function client() {
  return createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
    account: privateKeyToAccount(chain.accounts.facilitator.privateKey),
  })
    .extend(publicActions)
    .extend(walletActions)
}

async function authorized(choices: Partial<PaymentChoices> = {}) {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, 100n)
  const { payload } = await signedPayload(buyer, {
    amount: 60n,
    payTo: chain.accounts.merchant.address,
    nowMs: systemClock.nowMs(),
    ...choices,
  })
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization
  const terms = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce] as const
  return { buyer, terms, nonce, signature: payload.signature }
}

type Authorized = Awaited<ReturnType<typeof authorized>>

async function transfer({ terms }: Pick<Authorized, 'terms'>, signature: Hex) {
  const hash = await client().writeContract({
    address: chain.usdc,
    abi: transferWithBytes,
    functionName: 'transferWithAuthorization',
    args: [...terms, signature],
  })
  return minedReceipt(client(), hash)
}

describe('the local chain', () => {
  test('has USDC at the address and with the name of Base', async () => {
    expect(chain.usdc).toBe(base.asset)
    expect(chain.chainId).toBe(base.chainId)
    const read = (functionName: 'name' | 'version' | 'decimals') =>
      client().readContract({ address: chain.usdc, abi, functionName })
    expect(await read('name')).toBe(base.domain.name)
    expect(await read('version')).toBe(base.domain.version)
    expect(await read('decimals')).toBe(6)
  })

  test('is down after close, and closing twice is allowed', async () => {
    const other = await startEvmChain({ clock: systemClock })
    await other.close()
    await other.close()
    expect(() => process.kill(other.pid, 0)).toThrow(/ESRCH/)
    await expect(fetch(other.rpcUrl)).rejects.toThrow()
  })

  test('that cannot start reports the reason', async () => {
    await expect(startAnvil(['--no-such-option'], systemClock)).rejects.toThrow(
      /anvil exited with code 2.*--no-such-option/s,
    )
  })

  test('mints for many concurrently', async () => {
    const buyers = Array.from({ length: 10 }, newBuyer)
    await Promise.all(buyers.map(({ address }) => chain.fundUsdc(address, 5n)))
    expect(await Promise.all(buyers.map(({ address }) => chain.balanceOf(address)))).toEqual(
      buyers.map(() => 5n),
    )
  })
})

describe('the token', () => {
  test('transfers with either form of signature', async () => {
    const [one, two] = [await authorized(), await authorized()]
    expect((await transfer(one, one.signature)).status).toBe('success')
    const { v = 0n, r, s } = parseSignature(two.signature)
    const hash = await client().writeContract({
      address: chain.usdc,
      abi: transferWithVrs,
      functionName: 'transferWithAuthorization',
      args: [...two.terms, Number(v), r, s],
    })
    expect((await minedReceipt(client(), hash)).status).toBe('success')
    expect(await chain.balanceOf(one.buyer.address)).toBe(40n)
    expect(await chain.balanceOf(two.buyer.address)).toBe(40n)
  })

  test('accepts an authorization once', async () => {
    const payment = await authorized()
    await transfer(payment, payment.signature)
    await expect(transfer(payment, payment.signature)).rejects.toThrow(/used or canceled/)
  })

  test('refuses the malleated twin of a signature', async () => {
    const payment = await authorized()
    const { r, s, v } = parseSignature(payment.signature)
    const twin = `${r}${toHex(ORDER - BigInt(s), { size: 32 }).slice(2)}${v === 27n ? '1c' : '1b'}`
    await expect(transfer(payment, twin as Hex)).rejects.toThrow(/invalid signature 's' value/)
  })

  test('refuses a recovery value other than 27 and 28', async () => {
    const payment = await authorized()
    const signature = `${payment.signature.slice(0, -2)}00` as Hex
    await expect(transfer(payment, signature)).rejects.toThrow(/invalid signature 'v' value/)
  })

  test('refuses a changed amount', async () => {
    const payment = await authorized()
    const [from, to, value, ...rest] = payment.terms
    const changed = { terms: [from, to, value + 1n, ...rest] as const }
    await expect(transfer(changed, payment.signature)).rejects.toThrow(/invalid signature/)
  })

  test('refuses an authorization that has expired, is not valid yet, or exceeds the balance', async () => {
    const nowSeconds = BigInt(Math.floor(systemClock.nowMs() / 1_000))
    const late = await authorized({ validBeforeSeconds: nowSeconds - 10n })
    await expect(transfer(late, late.signature)).rejects.toThrow(/expired/)
    const early = await authorized({ validAfterSeconds: nowSeconds + 1_000n })
    await expect(transfer(early, early.signature)).rejects.toThrow(/not yet valid/)
    const large = await authorized({ amount: 101n })
    await expect(transfer(large, large.signature)).rejects.toThrow(/exceeds balance/)
  })

  test('lets the payer cancel', async () => {
    const payment = await authorized()
    const {
      r,
      s,
      v = 0n,
    } = parseSignature(
      await payment.buyer.signTypedData({
        domain: { ...base.domain, chainId: base.chainId, verifyingContract: base.asset },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: payment.buyer.address, nonce: payment.nonce },
      }),
    )
    const hash = await client().writeContract({
      address: chain.usdc,
      abi,
      functionName: 'cancelAuthorization',
      args: [payment.buyer.address, payment.nonce, Number(v), r, s],
    })
    await minedReceipt(client(), hash)
    await expect(transfer(payment, payment.signature)).rejects.toThrow(/used or canceled/)
    expect(await chain.balanceOf(payment.buyer.address)).toBe(100n)
  })

  test('mints for its owner only', async () => {
    await expect(
      client().writeContract({
        address: chain.usdc,
        abi,
        functionName: 'mint',
        args: [chain.accounts.facilitator.address, 1n],
      }),
    ).rejects.toThrow(/not a minter/)
  })
})
