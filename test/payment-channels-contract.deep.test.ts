import { computeChannelId } from '@x402/evm/batch-settlement/client'
import type { Address, Hex } from 'viem'
import {
  createTestClient,
  encodeAbiParameters,
  hashTypedData,
  http,
  parseAbi,
  publicActions,
  walletActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChannelClaim, ChannelConfig } from '../src/payment/channels/channel.ts'
import {
  CHANNEL_CONTRACT,
  ChannelDigests,
  DEPOSIT_COLLECTOR,
} from '../src/payment/channels/channel.ts'
import { base } from '../src/payment/evm/networks.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import {
  channelConfig,
  signedDeposit,
  signedVoucher,
  WITHDRAW_DELAY_SECONDS,
} from '../src/payment/testing/channel-rig.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { minedReceipt } from './support/mined-receipt.ts'
import { putUsdc } from './support/usdc-balance.ts'

/** The rules of the simulated channel contract, by direct calls; its errors are those of the deployed contract. */

const FUNDS = 10_000_000n
const DEPOSIT = 1_000_000n
const config =
  '(address payer, address payerAuthorizer, address receiver, address receiverAuthorizer, address token, uint40 withdrawDelay, bytes32 salt)'
const claims = `((${config} channel, uint128 maxClaimableAmount) voucher, bytes signature, uint128 totalClaimed)[] voucherClaims`
const abi = parseAbi([
  `function deposit(${config} config, uint128 amount, address collector, bytes collectorData)`,
  `function claim(${claims})`,
  `function claimWithSignature(${claims}, bytes signature)`,
  `function settle(address receiver, address token)`,
  `function initiateWithdraw(${config} config, uint128 amount)`,
  `function finalizeWithdraw(${config} config)`,
  `function refund(${config} config, uint128 amount)`,
  `function refundWithSignature(${config} config, uint128 amount, uint256 nonce, bytes signature)`,
  `function multicall(bytes[] data) returns (bytes[])`,
  `function getChannelId(${config} config) view returns (bytes32)`,
  `function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) view returns (bytes32)`,
  `function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) view returns (bytes32)`,
  `function getClaimBatchDigest(${claims}) view returns (bytes32)`,
  'function channels(bytes32 channelId) view returns (uint128 balance, uint128 totalClaimed)',
  'function pendingWithdrawals(bytes32 channelId) view returns (uint128 amount, uint40 initiatedAt)',
  'function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes data)',
  'error OnlySettlement()',
  'error InvalidChannel()',
  'error ZeroDeposit()',
  'error InvalidSignature()',
  'error NotReceiverAuthorizer()',
  'error NotAuthorizedToClaim()',
  'error NotAuthorizedToRefund()',
  'error ClaimExceedsCeiling()',
  'error ClaimExceedsBalance()',
  'error WithdrawalAlreadyPending()',
  'error WithdrawalNotPending()',
  'error NotAuthorizedToFinalizeWithdraw()',
  'error WithdrawDelayNotElapsed()',
  'error NothingToWithdraw()',
  'error WithdrawAmountExceedsAvailable()',
  'error WithdrawDelayOutOfRange()',
  'error EmptyBatch()',
  'error InvalidCollector()',
  'error InvalidRefundNonce()',
  'error ZeroRefund()',
])
const digests = new ChannelDigests(base.chainId)

let chain: EvmChain
let seller: PrivateKeyAccount
let authorizer: PrivateKeyAccount

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
  authorizer = privateKeyToAccount(chain.accounts.facilitator.privateKey)
  seller = privateKeyToAccount(chain.accounts.merchant.privateKey)
})

afterAll(() => chain?.close())

function client() {
  return createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
  })
    .extend(publicActions)
    .extend(walletActions)
}

type Call = Parameters<ReturnType<typeof client>['writeContract']>[0]

/** Executes a call; fails with the contract's own error. */
async function does(account: PrivateKeyAccount, functionName: string, args: readonly unknown[]) {
  const call = { address: CHANNEL_CONTRACT, abi, functionName, args, account } as never
  await client().simulateContract(call)
  const hash = await client().writeContract(call as Call)
  await minedReceipt(client(), hash)
}

async function now(): Promise<bigint> {
  return (await client().getBlock()).timestamp
}

/** A buyer with ETH for gas and a channel with a deposit of one dollar. */
async function channelOf(choices: Partial<ChannelConfig> = {}, deposit = DEPOSIT) {
  const buyer = newBuyer()
  await putUsdc(chain, buyer.address, FUNDS)
  await client().setBalance({ address: buyer.address, value: 10n ** 18n })
  const terms = { payTo: seller.address, authorizer: authorizer.address }
  const config = channelConfig(buyer.address, terms, choices)
  const id = digests.channelId(config)
  await does(authorizer, 'deposit', await depositArgs(buyer, config, deposit))
  return { buyer, config, id }
}

async function depositArgs(
  buyer: PrivateKeyAccount,
  config: ChannelConfig,
  amount: bigint,
  collector: Address = DEPOSIT_COLLECTOR,
) {
  const { authorization } = await signedDeposit(buyer, config, amount, (await now()) + 600n)
  const { validAfter, validBefore, salt, signature } = authorization.erc3009Authorization
  const data = encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }, { type: 'bytes' }],
    [BigInt(validAfter), BigInt(validBefore), BigInt(salt), signature],
  )
  return [config, amount, collector, data] as const
}

/** A row of a claim for a voucher signed by its buyer. */
async function row(
  signer: PrivateKeyAccount,
  config: ChannelConfig,
  signed: bigint,
  claimed = signed,
) {
  const { signature } = await signedVoucher(signer, config, signed)
  return {
    voucher: { channel: config, maxClaimableAmount: signed },
    signature,
    totalClaimed: claimed,
  }
}

async function state(id: Hex) {
  const [balance, claimed] = await client().readContract({
    address: CHANNEL_CONTRACT,
    abi,
    functionName: 'channels',
    args: [id],
  })
  return { balance, claimed }
}

const held = (address: Address) => chain.balanceOf(address)

describe('the digests that we sign and check', () => {
  test('equal those of the contract', async () => {
    const { buyer, config, id } = await channelOf()
    const read = (functionName: string, args: readonly unknown[]) =>
      client().readContract({ address: CHANNEL_CONTRACT, abi, functionName, args } as never)
    expect(await read('getChannelId', [config])).toBe(id)
    expect(await read('getVoucherDigest', [id, 5n])).toBe(digests.voucher(id, 5n))
    expect(await read('getRefundDigest', [id, 7n, 9n])).toBe(digests.refund(id, 7n, 9n))
    const rows = [await row(buyer, config, 11n), await row(buyer, config, 13n, 7n)]
    const batch: ChannelClaim[] = rows.map(({ voucher, signature, totalClaimed }) => ({
      config,
      voucher: { channelId: id, cumulative: voucher.maxClaimableAmount, signature },
      total: totalClaimed,
    }))
    expect(await read('getClaimBatchDigest', [rows])).toBe(digests.claimBatch(batch))
  })

  test('equal those of the SDK and of viem', () => {
    const terms = { payTo: seller.address, authorizer: authorizer.address }
    const config = channelConfig(newBuyer().address, terms, { salt: `0x${'9f'.repeat(32)}` })
    const id = digests.channelId(config)
    expect(id).toBe(computeChannelId(config, base.network))
    const viems = hashTypedData({
      domain: {
        name: 'x402 Batch Settlement',
        version: '1',
        chainId: base.chainId,
        verifyingContract: CHANNEL_CONTRACT,
      },
      types: {
        Voucher: [
          { name: 'channelId', type: 'bytes32' },
          { name: 'maxClaimableAmount', type: 'uint128' },
        ],
      },
      primaryType: 'Voucher',
      message: { channelId: id, maxClaimableAmount: 2n ** 128n - 1n },
    })
    expect(digests.voucher(id, 2n ** 128n - 1n)).toBe(viems)
  })
})

describe('a deposit', () => {
  test('moves the money into the channel, regardless of the sender of the authorization', async () => {
    const { buyer, id } = await channelOf()
    expect(await state(id)).toEqual({ balance: DEPOSIT, claimed: 0n })
    expect(await held(buyer.address)).toBe(FUNDS - DEPOSIT)
  })

  test('adds to the balance, once', async () => {
    const { buyer, config, id } = await channelOf()
    const args = await depositArgs(buyer, config, 5n)
    await does(authorizer, 'deposit', args)
    expect((await state(id)).balance).toBe(DEPOSIT + 5n)
    await expect(does(authorizer, 'deposit', args)).rejects.toThrow(/used or canceled/)
  })

  test('for one channel does not change another', async () => {
    const { buyer, config } = await channelOf()
    const [, amount, collector, data] = await depositArgs(buyer, config, 5n)
    const other = { ...config, receiver: newBuyer().address }
    await expect(does(authorizer, 'deposit', [other, amount, collector, data])).rejects.toThrow(
      /invalid signature/,
    )
  })

  test.each([
    ['WithdrawDelayOutOfRange', { withdrawDelay: 899 }, 1n],
    ['WithdrawDelayOutOfRange', { withdrawDelay: 2_592_001 }, 1n],
    ['InvalidChannel', { receiver: `0x${'0'.repeat(40)}` }, 1n],
    ['ZeroDeposit', {}, 0n],
  ] as const)('is refused as %s for %o', async (error, choices, amount) => {
    const { buyer, config } = await channelOf()
    const args = await depositArgs(buyer, { ...config, ...choices }, amount)
    await expect(does(authorizer, 'deposit', args)).rejects.toThrow(error)
  })

  test('cannot be collected outside the channels', async () => {
    const { buyer, config, id } = await channelOf()
    const [, amount, , data] = await depositArgs(buyer, config, 5n)
    await expect(
      client().simulateContract({
        address: DEPOSIT_COLLECTOR,
        abi,
        functionName: 'collect',
        args: [buyer.address, base.asset, amount, id, data],
        account: authorizer,
      }),
    ).rejects.toThrow('OnlySettlement')
  })
})

describe('a claim', () => {
  test('of many channels in one transaction is paid out in one more', async () => {
    const channels: Awaited<ReturnType<typeof channelOf>>[] = []
    for (let count = 0; count < 5; count += 1) channels.push(await channelOf())
    await does(authorizer, 'settle', [seller.address, base.asset])
    const before = await held(seller.address)
    const rows = await Promise.all(
      channels.map(({ buyer, config }, index) => row(buyer, config, 1_000n * BigInt(index + 1))),
    )
    await does(authorizer, 'claim', [rows])
    expect(await held(seller.address), 'claiming moves nothing').toBe(before)
    await does(authorizer, 'settle', [seller.address, base.asset])
    expect(await held(seller.address)).toBe(before + 15_000n)
    await does(authorizer, 'settle', [seller.address, base.asset])
    expect(await held(seller.address), 'once').toBe(before + 15_000n)
  })

  test('of an older voucher changes nothing', async () => {
    const { buyer, config, id } = await channelOf()
    await does(authorizer, 'claim', [[await row(buyer, config, 900n)]])
    await does(authorizer, 'claim', [[await row(buyer, config, 400n)]])
    expect((await state(id)).claimed).toBe(900n)
  })

  test('may be for less than the signed sum, not for more', async () => {
    const { buyer, config, id } = await channelOf()
    await does(authorizer, 'claim', [[await row(buyer, config, 900n, 300n)]])
    expect((await state(id)).claimed).toBe(300n)
    await expect(
      does(authorizer, 'claim', [[await row(buyer, config, 900n, 901n)]]),
    ).rejects.toThrow('ClaimExceedsCeiling')
    await expect(
      does(authorizer, 'claim', [[await row(buyer, config, DEPOSIT + 1n)]]),
    ).rejects.toThrow('ClaimExceedsBalance')
  })

  test('needs the signature of the payer or of its authorizer', async () => {
    const { config } = await channelOf()
    await expect(does(authorizer, 'claim', [[await row(newBuyer(), config, 10n)]])).rejects.toThrow(
      'InvalidSignature',
    )
    const deputy = newBuyer()
    const deputised = await channelOf({ payerAuthorizer: deputy.address })
    await does(authorizer, 'claim', [[await row(deputy, deputised.config, 10n)]])
    expect((await state(deputised.id)).claimed).toBe(10n)
    await expect(
      does(authorizer, 'claim', [[await row(deputised.buyer, deputised.config, 20n)]]),
    ).rejects.toThrow('InvalidSignature')
  })

  test('is for the seller, its authorizer, and senders with the signature of the latter', async () => {
    const { buyer, config, id } = await channelOf()
    const rows = [await row(buyer, config, 50n)]
    await expect(does(buyer, 'claim', [rows])).rejects.toThrow('NotAuthorizedToClaim')
    await expect(does(authorizer, 'claim', [[]])).rejects.toThrow('EmptyBatch')
    const voucher = { channelId: id, cumulative: 50n, signature: '0x' } as const
    const hash = digests.claimBatch([{ config, voucher, total: 50n }])
    const forged = await buyer.sign({ hash })
    await expect(does(buyer, 'claimWithSignature', [rows, forged])).rejects.toThrow(
      'InvalidSignature',
    )
    await does(buyer, 'claimWithSignature', [rows, await authorizer.sign({ hash })])
    expect((await state(id)).claimed).toBe(50n)
  })
})

describe('a withdrawal', () => {
  test('takes the unclaimed rest, after the delay and not before', async () => {
    const { buyer, config, id } = await channelOf()
    await does(buyer, 'initiateWithdraw', [config, DEPOSIT])
    await expect(does(buyer, 'initiateWithdraw', [config, 1n])).rejects.toThrow(
      'WithdrawalAlreadyPending',
    )
    await expect(does(buyer, 'finalizeWithdraw', [config])).rejects.toThrow(
      'WithdrawDelayNotElapsed',
    )
    await does(authorizer, 'claim', [[await row(buyer, config, 400_000n)]])
    await client().increaseTime({ seconds: WITHDRAW_DELAY_SECONDS })
    await client().mine({ blocks: 1 })
    await does(buyer, 'finalizeWithdraw', [config])
    expect(await state(id)).toEqual({ balance: 400_000n, claimed: 400_000n })
    expect(await held(buyer.address)).toBe(FUNDS - 400_000n)
    await expect(
      does(authorizer, 'claim', [[await row(buyer, config, 400_001n)]]),
      'what comes later is lost',
    ).rejects.toThrow('ClaimExceedsBalance')
  })

  test('is refused to others, and for zero or more than the balance', async () => {
    const { buyer, config } = await channelOf()
    await expect(does(authorizer, 'initiateWithdraw', [config, 1n])).rejects.toThrow(
      'InvalidChannel',
    )
    await expect(does(buyer, 'initiateWithdraw', [config, 0n])).rejects.toThrow('NothingToWithdraw')
    await expect(does(buyer, 'initiateWithdraw', [config, DEPOSIT + 1n])).rejects.toThrow(
      'WithdrawAmountExceedsAvailable',
    )
    await expect(does(buyer, 'finalizeWithdraw', [config])).rejects.toThrow('WithdrawalNotPending')
    await expect(does(authorizer, 'finalizeWithdraw', [config])).rejects.toThrow(
      'NotAuthorizedToFinalizeWithdraw',
    )
  })
})

describe('a refund', () => {
  test('returns at most the unclaimed rest, and ends a withdrawal that it covers', async () => {
    const { buyer, config, id } = await channelOf()
    await does(authorizer, 'claim', [[await row(buyer, config, 100n)]])
    await does(buyer, 'initiateWithdraw', [config, 1_000n])
    await does(seller, 'refund', [config, 2n * DEPOSIT])
    expect(await held(buyer.address)).toBe(FUNDS - 100n)
    const [, initiatedAt] = await client().readContract({
      address: CHANNEL_CONTRACT,
      abi,
      functionName: 'pendingWithdrawals',
      args: [id],
    })
    expect(initiatedAt).toBe(0)
  })

  test('by signature works once', async () => {
    const { buyer, config, id } = await channelOf()
    const signature = await authorizer.sign({ hash: digests.refund(id, 0n, 10n) })
    await does(buyer, 'refundWithSignature', [config, 10n, 0n, signature])
    expect((await state(id)).balance).toBe(DEPOSIT - 10n)
    await expect(does(buyer, 'refundWithSignature', [config, 10n, 0n, signature])).rejects.toThrow(
      'InvalidRefundNonce',
    )
    await expect(does(buyer, 'refundWithSignature', [config, 10n, 1n, signature])).rejects.toThrow(
      'InvalidSignature',
    )
    await expect(does(buyer, 'refund', [config, 10n])).rejects.toThrow('NotAuthorizedToRefund')
    await expect(does(seller, 'refund', [config, 0n])).rejects.toThrow('ZeroRefund')
  })
})
