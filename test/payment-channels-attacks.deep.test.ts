import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address, Hex } from 'viem'
import { createTestClient, http, parseAbi, publicActions, walletActions } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ChannelConfig } from '../src/payment/channels/channel.ts'
import { CHANNEL_CONTRACT, ChannelDigests, depositNonce } from '../src/payment/channels/channel.ts'
import type { TransactionResult } from '../src/payment/channels/channel-chain.ts'
import type { ChannelStore } from '../src/payment/channels/channel-store.ts'
import { ContractPayers } from '../src/payment/evm/contract-payers.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { TransactionSender } from '../src/payment/evm/transaction-sender.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { ChannelDesk } from '../src/payment/testing/channel-rig.ts'
import {
  channelConfig,
  channelPayment,
  openChannelDesk,
  signedDeposit,
  signedVoucher,
  WITHDRAW_DELAY_SECONDS,
} from '../src/payment/testing/channel-rig.ts'
import type { PaidHost } from '../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { cancelAuthorization } from './support/cancelled-authorization.ts'
import { ManualClock } from './support/manual-clock.ts'
import { minedReceipt } from './support/mined-receipt.ts'
import { promptClock } from './support/prompt-clock.ts'
import { rpcWire } from './support/rpc-wire.ts'
import { putUsdc } from './support/usdc-balance.ts'

/** Payment channels with dishonest, stateless and concurrent buyers, and crashes at every point. */

const FUNDS = 10_000_000n
const DEPOSIT = 1_000_000n
const MISMATCH = 'invalid_batch_settlement_evm_cumulative_amount_mismatch'
let chain: EvmChain
const opened: { close(): unknown }[] = []
const folders: string[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})

afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

afterAll(() => chain?.close())

type Shop = {
  readonly desk: ChannelDesk
  readonly host: PaidHost
  readonly clock: ManualClock
  readonly terms: { readonly payTo: Address; readonly authorizer: Address }
}

type ShopOptions = {
  readonly folder?: string
  readonly rpcUrl?: string
  readonly payTo?: Address
  readonly unclaimedMax?: bigint
  /** Belongs to another gateway. */
  readonly store?: ChannelStore
}

async function shop({ folder, ...options }: ShopOptions = {}): Promise<Shop> {
  const clock = new ManualClock(systemClock.nowMs())
  const { facilitator } = chain.accounts
  const payTo = options.payTo ?? newBuyer().address
  const desk = openChannelDesk({
    rpcUrl: chain.rpcUrl,
    key: facilitator.privateKey,
    payTo,
    clock,
    nodeClock: systemClock,
    ...(folder === undefined ? {} : { path: join(folder, 'channels.db') }),
    ...options,
  })
  opened.push(desk.store)
  const host = await startPaidHost({
    payTo,
    // No payment here uses `exact`.
    facilitator: {} as never,
    methods: [desk.method],
    clock,
    ...(folder === undefined ? {} : { ledgerPath: join(folder, 'ledger.db') }),
  })
  opened.push(host)
  return { desk, host, clock, terms: { payTo, authorizer: facilitator.address } }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'perpscope-channels-'))
  folders.push(path)
  return path
}

/** A copy of the disk, as after a power failure. */
function copyOf(source: string): string {
  const target = folder()
  for (const name of ['ledger.db', 'ledger.db-wal', 'channels.db', 'channels.db-wal']) {
    if (existsSync(join(source, name))) copyFileSync(join(source, name), join(target, name))
  }
  return target
}

type Buyer = { readonly key: PrivateKeyAccount; readonly config: ChannelConfig }

async function fundedBuyer({ terms }: Shop, choices: Partial<ChannelConfig> = {}): Promise<Buyer> {
  const key = newBuyer()
  await putUsdc(chain, key.address, FUNDS)
  return { key, config: channelConfig(key.address, terms, choices) }
}

async function voucher({ key, config }: Buyer, { terms }: Shop, cumulative: bigint) {
  const signed = await signedVoucher(key, config, cumulative)
  return channelPayment(PRICE, terms, { type: 'voucher', channelConfig: config, voucher: signed })
}

async function withDeposit(
  { key, config }: Buyer,
  { terms, clock }: Shop,
  cumulative = PRICE,
  amount = DEPOSIT,
) {
  const validBefore = BigInt(Math.floor(clock.nowMs() / 1_000) + 120)
  return channelPayment(PRICE, terms, {
    type: 'deposit',
    channelConfig: config,
    voucher: await signedVoucher(key, config, cumulative),
    deposit: await signedDeposit(key, config, amount, validBefore),
  })
}

async function buy({ host }: Pick<Shop, 'host'>, payment: string, path = '/pulse/BTC') {
  const response = await fetch(host.url + path, { headers: { 'payment-signature': payment } })
  const text = await response.text()
  const { status, headers } = response
  const decoded = (name: string) =>
    JSON.parse(Buffer.from(headers.get(name) ?? 'e30=', 'base64').toString())
  return {
    status,
    text,
    body: () => JSON.parse(text),
    required: () => decoded('payment-required'),
    receipt: () => decoded('payment-response'),
  }
}

/** A shop and a buyer with a deposit of one dollar, of which one price is spent. */
async function opening(options: ShopOptions = {}) {
  const at = await shop(options)
  const buyer = await fundedBuyer(at)
  expect((await buy(at, await withDeposit(buyer, at), '/pulse/FIRST')).status).toBe(200)
  return { at, buyer }
}

const digests = new ChannelDigests(baseChain.id)
const chargedOf = async ({ desk }: Shop, { config }: Buyer) =>
  (await desk.store.find(digests.channelId(config)))?.charged ?? 0n
const held = (address: string) => chain.balanceOf(address as Address)

/** A separate chain for a test that changes the chain's clock. */
async function onOwnChain(): Promise<void> {
  const common = chain
  chain = await startEvmChain({ clock: systemClock })
  const { close } = chain
  opened.push({
    close: () => {
      chain = common
      return close()
    },
  })
}

function client() {
  return createTestClient({ mode: 'anvil', chain: baseChain, transport: http(chain.rpcUrl) })
    .extend(publicActions)
    .extend(walletActions)
}

describe('one voucher', () => {
  test('sent again is answered with the same bytes for free, in any spelling', async () => {
    const { at, buyer } = await opening()
    const payment = await voucher(buyer, at, 2n * PRICE)
    const first = await buy(at, payment, '/pulse/BTC?a=1&b=2')
    const runs = at.host.runs()
    for (const path of ['/pulse/BTC?a=1&b=2', '/pulse/%42TC?b=2&a=1']) {
      const again = await buy(at, payment, path)
      expect(again.status).toBe(200)
      expect(again.text).toBe(first.text)
      expect(again.receipt()).toEqual(first.receipt())
    }
    expect(at.host.runs()).toBe(runs)
    expect(await chargedOf(at, buyer)).toBe(2n * PRICE)
  })

  test('that another one has followed is a retry for a minute, then a client that has lost count', async () => {
    const { at, buyer } = await opening()
    const payment = await voucher(buyer, at, 2n * PRICE)
    const first = await buy(at, payment)
    const last = await voucher(buyer, at, 3n * PRICE)
    expect((await buy(at, last)).status).toBe(200)
    at.clock.advance(60_000)
    expect((await buy(at, payment)).text).toBe(first.text)
    at.clock.advance(1)
    const late = await buy(at, payment)
    expect(late.status).toBe(402)
    expect(late.required().error).toBe(MISMATCH)
    const signedAgain = await buy(at, await voucher(buyer, at, 3n * PRICE))
    expect(signedAgain.status, 'for another quote it is no retry').toBe(402)
    expect(signedAgain.required().error).toBe(MISMATCH)
    expect((await buy(at, last)).status, 'the last one may still be a retry').toBe(200)
    expect(await chargedOf(at, buyer)).toBe(3n * PRICE)
  })

  test('sent 20 times at once is charged once', async () => {
    const { at, buyer } = await opening()
    const payment = await voucher(buyer, at, 2n * PRICE)
    const runs = at.host.runs()
    const answers = await Promise.all(Array.from({ length: 20 }, () => buy(at, payment)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(at.host.runs()).toBe(runs + 1)
    expect(await chargedOf(at, buyer)).toBe(2n * PRICE)
  })

  test.each([
    ['over the same sum', 2n],
    ['over an older sum', 1n],
    ['over a sum that skips a price', 4n],
    ['over nothing', 0n],
  ])('%s elsewhere is refused, with where the channel stands', async (_what, prices) => {
    const { at, buyer } = await opening()
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
    const runs = at.host.runs()
    const { status, required, receipt } = await buy(
      at,
      await voucher(buyer, at, prices * PRICE),
      '/pulse/ETH',
    )
    expect(status).toBe(402)
    expect(required()).toMatchObject({
      error: MISMATCH,
      accepts: [
        {
          extra: {
            channelState: { chargedCumulativeAmount: (2n * PRICE).toString() },
            voucherState: { signedMaxClaimable: (2n * PRICE).toString() },
          },
        },
      ],
    })
    expect(receipt(), 'a client with a receipt would not look at the terms').toEqual({})
    expect(at.host.runs()).toBe(runs)
    expect(await chargedOf(at, buyer)).toBe(2n * PRICE)
  })

  test('that a claim has published reveals no newer one, and a client that starts from the claim gets it', async () => {
    const { at, buyer } = await opening()
    expect(await at.desk.collector.flush()).toBe(true)
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
    const observed = await buy(at, await voucher(buyer, at, PRICE), '/pulse/ETH')
    expect(observed.required().error).toBe(MISMATCH)
    expect(JSON.stringify(observed.required())).not.toContain('channelState')
    at.clock.advance(60_001)
    expect((await buy(at, await voucher(buyer, at, 3n * PRICE), '/pulse/SOL')).status).toBe(200)
    const forgetful = await buy(at, await voucher(buyer, at, 2n * PRICE))
    expect(JSON.stringify(forgetful.required())).toContain('channelState')
  })

  test('for an answer that is an error is not charged, and buys another', async () => {
    const { at, buyer } = await opening()
    const payment = await voucher(buyer, at, 2n * PRICE)
    for (const path of ['/status/500', '/status/404', '/throws', '/empty']) {
      expect((await buy(at, payment, path)).status).toBeGreaterThanOrEqual(400)
    }
    expect(await chargedOf(at, buyer)).toBe(PRICE)
    expect((await buy(at, payment)).status).toBe(200)
    expect(await chargedOf(at, buyer)).toBe(2n * PRICE)
  })

  test('and another price at the same time cannot both be taken', async () => {
    const { at, buyer } = await opening()
    const dear = 3n * PRICE
    const signed = await signedVoucher(buyer.key, buyer.config, PRICE + dear)
    const dearer = channelPayment(dear, at.terms, {
      type: 'voucher',
      channelConfig: buyer.config,
      voucher: signed,
    })
    const answers = await Promise.all([
      buy(at, await voucher(buyer, at, 2n * PRICE)),
      buy(at, dearer, '/bundle/BTC'),
    ])
    const sold = answers.filter(({ status }) => status === 200)
    expect(sold).toHaveLength(1)
    expect([PRICE, dear]).toContain((await chargedOf(at, buyer)) - PRICE)
  })
})

describe('a voucher is refused', () => {
  test('with a signature of somebody else, who learns nothing of the channel', async () => {
    const { at, buyer } = await opening()
    const forged = await voucher({ ...buyer, key: newBuyer() }, at, 2n * PRICE)
    const { status, body, required } = await buy(at, forged)
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_voucher_signature')
    expect(JSON.stringify(required())).not.toContain('channelState')
  })

  test.each([
    ['the malleated twin of a signature', malleated],
    ['a signature with another v', (signature: Hex): Hex => `${signature.slice(0, -2)}00` as Hex],
    ['no point of the curve', (): Hex => `0x${'ff'.repeat(65)}`],
  ])('with %s, which the contract would not take', async (_what, spoil) => {
    const { at, buyer } = await opening()
    const signed = await signedVoucher(buyer.key, buyer.config, 2n * PRICE)
    const payment = channelPayment(PRICE, at.terms, {
      type: 'voucher',
      channelConfig: buyer.config,
      voucher: { ...signed, signature: spoil(signed.signature) },
    })
    expect((await buy(at, payment)).status).toBe(402)
    expect(await chargedOf(at, buyer)).toBe(PRICE)
  })

  test('above the deposit', async () => {
    const at = await shop()
    const buyer = await fundedBuyer(at)
    const first = await withDeposit(buyer, at, PRICE, PRICE)
    expect((await buy(at, first)).status).toBe(200)
    const { status, body } = await buy(at, await voucher(buyer, at, 2n * PRICE), '/pulse/ETH')
    expect(status).toBe(402)
    expect(body().diagnostics).toMatchObject({
      reason: 'invalid_batch_settlement_evm_cumulative_exceeds_balance',
      hint: expect.stringContaining('deposit'),
    })
  })

  test('on a channel without a deposit, before it costs its payer anything', async () => {
    const at = await shop()
    const buyer = await fundedBuyer(at)
    const { status, body } = await buy(at, await voucher(buyer, at, PRICE))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_channel_not_found')
    expect(await at.desk.store.channels()).toEqual([])
  })

  test('for another chain', async () => {
    const { at, buyer } = await opening()
    const elsewhere = new ChannelDigests(84_532)
    const channelId = digests.channelId(buyer.config)
    const signature = await buyer.key.sign({ hash: elsewhere.voucher(channelId, 2n * PRICE) })
    const signed = { channelId, maxClaimableAmount: (2n * PRICE).toString(), signature }
    const payload = { type: 'voucher', channelConfig: buyer.config, voucher: signed }
    const { status, body } = await buy(at, channelPayment(PRICE, at.terms, payload))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_voucher_signature')
  })

  test.each([
    ['receiver_mismatch', { receiver: '0x000000000000000000000000000000000000dEaD' }],
    ['token_mismatch', { token: '0x000000000000000000000000000000000000dEaD' }],
    [
      'receiver_authorizer_mismatch',
      { receiverAuthorizer: '0x000000000000000000000000000000000000dEaD' },
    ],
    ['withdraw_delay_mismatch', { withdrawDelay: 900 }],
    ['voucher_signature', { payerAuthorizer: '0x0000000000000000000000000000000000000000' }],
  ] as const)('as %s on a channel with %o', async (reason, choices) => {
    const at = await shop()
    const buyer = await fundedBuyer(at, choices)
    const { status, body } = await buy(at, await withDeposit(buyer, at))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe(`invalid_batch_settlement_evm_${reason}`)
    expect(await held(buyer.key.address)).toBe(FUNDS)
  })

  test('under the name of another channel', async () => {
    const { at, buyer } = await opening()
    const other = { ...buyer, config: { ...buyer.config, salt: `0x${'01'.repeat(32)}` as Hex } }
    const signed = await signedVoucher(buyer.key, buyer.config, 2n * PRICE)
    const payload = { type: 'voucher', channelConfig: other.config, voucher: signed }
    const { body } = await buy(at, channelPayment(PRICE, at.terms, payload))
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_channel_id_mismatch')
  })

  test.each([
    ['no type', { type: undefined }],
    ['an unknown type', { type: 'claim' }],
    ['no voucher', { voucher: undefined }],
    ['a negative sum', { voucher: { maxClaimableAmount: '-1' } }],
    ['a delay that is text', { channelConfig: { withdrawDelay: '900' } }],
  ])('as malformed with %s', async (_what, edits) => {
    const { at, buyer } = await opening()
    const signed = await signedVoucher(buyer.key, buyer.config, 2n * PRICE)
    const payload: Record<string, unknown> = {
      type: 'voucher',
      channelConfig: buyer.config,
      voucher: signed,
    }
    for (const [name, edit] of Object.entries(edits)) {
      payload[name] = typeof edit === 'object' ? { ...(payload[name] as object), ...edit } : edit
    }
    expect((await buy(at, channelPayment(PRICE, at.terms, payload))).status).toBe(400)
  })
})

describe('a deposit', () => {
  test('that somebody else has brought to the chain counts', async () => {
    const at = await shop()
    const other = await shop({ payTo: at.terms.payTo })
    const buyer = await fundedBuyer(at)
    const payment = await withDeposit(buyer, at)
    expect((await buy(other, payment, '/pulse/ETH')).status).toBe(200)
    expect((await buy(at, payment)).status).toBe(200)
    expect(await held(buyer.key.address), 'and is fetched once').toBe(FUNDS - DEPOSIT)
  })

  test('whose reply is lost is open, not refused, and is fetched once', async () => {
    const wire = await rpcWire(chain.rpcUrl)
    opened.push(wire)
    const at = await shop({ rpcUrl: wire.url })
    const buyer = await fundedBuyer(at)
    const payment = await withDeposit(buyer, at)
    wire.swallow('eth_sendRawTransaction')
    const { status, body } = await buy(at, payment)
    expect(status).toBe(503)
    expect(body()).toMatchObject({
      code: 'settlement_unknown',
      transaction: expect.stringMatching(/^0x/),
    })
    expect((await buy(at, payment)).status).toBe(200)
    expect(at.host.runs()).toBe(1)
    expect(await chargedOf(at, buyer)).toBe(PRICE)
    expect(await held(buyer.key.address)).toBe(FUNDS - DEPOSIT)
  })

  test('of a wallet without the money is refused', async () => {
    const at = await shop()
    const buyer = await fundedBuyer(at)
    const { status, body } = await buy(at, await withDeposit(buyer, at, PRICE, 2n * FUNDS))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_insufficient_balance')
  })

  test.each([
    ['emptied', /deposit_transaction_failed$/],
    ['that cancels', /channel_not_found$/],
  ])('of a wallet %s before the block is refused after the third time', async (what, reason) => {
    await onOwnChain()
    const at = await shop()
    const buyer = await fundedBuyer(at)
    await client().setBalance({ address: buyer.key.address, value: 10n ** 18n })
    let nonce: Hex = '0x'
    const { send } = TransactionSender.prototype
    const sent = vi.spyOn(TransactionSender.prototype, 'send')
    onTestFinished(() => sent.mockRestore())
    sent.mockImplementation(async function (this: TransactionSender, ...args) {
      await (what === 'emptied' ? emptied(buyer.key) : cancelAuthorization(chain, buyer.key, nonce))
      return send.apply(this, args)
    })
    for (let tries = 1; tries <= 3; tries += 1) {
      const payment = await withDeposit(buyer, at, PRICE, FUNDS)
      nonce = nonceOf(buyer, payment)
      const { body } = await buy(at, payment)
      expect(body().diagnostics.reason).toMatch(reason)
      await putUsdc(chain, buyer.key.address, FUNDS)
    }
    const { status, body } = await buy(at, await withDeposit(buyer, at, PRICE, FUNDS))
    expect([status, body().diagnostics.reason]).toEqual([402, 'invalid_exact_evm_payer_barred'])
    expect(sent).toHaveBeenCalledTimes(3)
  })

  test('of a wallet that cancels it after the wait for its block counts against that wallet', async () => {
    await onOwnChain()
    const at = await shop()
    const buyer = await fundedBuyer(at)
    const failed = vi.spyOn(ContractPayers.prototype, 'failed')
    onTestFinished(() => failed.mockRestore())
    await client().setAutomine(false)
    const payment = await withDeposit(buyer, at, PRICE, FUNDS)
    expect((await buy(at, payment)).body()).toMatchObject({ code: 'settlement_unknown' })
    const tip = 50_000_000_000n
    const cancelled = cancelAuthorization(chain, buyer.key, nonceOf(buyer, payment), tip)
    await expect.poll(async () => (await client().getTxpoolStatus()).pending).toBe(2)
    await client().mine({ blocks: 1 })
    await cancelled
    expect(failed).not.toHaveBeenCalled()
    at.clock.advance(6_000)
    await expect.poll(() => failed.mock.calls.length).toBe(1)
    expect(failed.mock.calls[0]).toMatchObject([{ payer: buyer.key.address, strikes: 1 }])
    const { transaction } = failed.mock.calls[0]?.[0] ?? {}
    const looks = vi.spyOn(at.desk.registry.chain, 'countFailedAfterwards')
    const speak = vi.spyOn(globalThis, 'fetch')
    at.clock.advance(6_000)
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(0)
    expect(looks.mock.lastCall?.[1]).toBe(transaction)
    await looks.mock.results.at(-1)?.value
    const asked = speak.mock.calls.filter(([, init]) =>
      String(init?.body).includes(`${transaction}`),
    )
    expect(asked, 'the node is not asked again').toEqual([])
  })

  test('of a stranger’s money is refused by its signature, before any wallet is counted', async () => {
    const at = await shop()
    const victim = await fundedBuyer(at)
    const thief = newBuyer()
    const config = { ...victim.config, payerAuthorizer: thief.address }
    const { status, body } = await buy(at, await withDeposit({ key: thief, config }, at))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe(
      'invalid_batch_settlement_evm_receive_authorization_signature',
    )
    expect(await held(victim.key.address)).toBe(FUNDS)
  })

  test('that does not cover its voucher is refused before it is fetched', async () => {
    const at = await shop()
    const buyer = await fundedBuyer(at)
    const { status } = await buy(at, await withDeposit(buyer, at, PRICE, PRICE - 1n))
    expect(status).toBe(402)
    expect(await held(buyer.key.address)).toBe(FUNDS)
  })
})

test('of two deposits of a whole wallet at once one is sent, at the cost of one', async () => {
  const at = await shop()
  const one = await fundedBuyer(at)
  const salt: Hex = `0x${'07'.repeat(32)}`
  const other = { key: one.key, config: { ...one.config, salt } }
  const { address } = privateKeyToAccount(chain.accounts.facilitator.privateKey)
  const sent = () => client().getTransactionCount({ address, blockTag: 'pending' })
  const before = await sent()
  const found = await Promise.all(
    [one, other].map(async (buyer) =>
      buy(at, await withDeposit(buyer, at, PRICE, FUNDS), `/pulse/${buyer.config.salt.slice(-2)}`),
    ),
  )
  expect(found.map(({ status }) => status).sort()).toEqual([200, 402])
  expect((await sent()) - before).toBe(1)
})

test("deposits and other transfers with the same gas key get in each other's way and all get through", async () => {
  const { facilitator, merchant } = chain.accounts
  const clock = new ManualClock(systemClock.nowMs())
  const payTo = merchant.address
  const rpcUrl = chain.rpcUrl
  const desk = openChannelDesk({
    ...{ rpcUrl, key: facilitator.privateKey, payTo, clock, nodeClock: systemClock },
  })
  opened.push(desk.store)
  const exact = localFacilitator({
    network: base,
    rpcUrl,
    privateKey: facilitator.privateKey,
    clock: promptClock,
  })
  const methods = [exactEvm({ network: base, payTo, facilitator: exact }), desk.method]
  const host = await startPaidHost({ payTo, facilitator: exact, methods, clock })
  opened.push(host)
  const at: Shop = { desk, host, clock, terms: { payTo, authorizer: facilitator.address } }
  const buyers: Buyer[] = []
  for (let count = 0; count < 16; count += 1) buyers.push(await fundedBuyer(at))
  const payments = await Promise.all(
    buyers.map(async (buyer, index) =>
      index % 2 === 0
        ? withDeposit(buyer, at)
        : encodedPayment(
            await signedPayload(buyer.key, { amount: PRICE, payTo, nowMs: clock.nowMs() }),
          ),
    ),
  )
  const unpaid = new Set(payments)
  for (let round = 0; round < 5 && unpaid.size > 0; round += 1) {
    const answers = await Promise.all(
      [...unpaid].map(async (payment) => ({ payment, ...(await buy(at, payment)) })),
    )
    expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true)
    for (const { status, payment } of answers) if (status === 200) unpaid.delete(payment)
  }
  expect(unpaid.size).toBe(0)
  const spent = await Promise.all(buyers.map(async ({ key }) => FUNDS - (await held(key.address))))
  expect(spent).toEqual(buyers.map((_, index) => (index % 2 === 0 ? DEPOSIT : PRICE)))
})

describe('a withdrawal', () => {
  test('is seen in time: all that was sold is claimed, nothing more is sold', async () => {
    await onOwnChain()
    const { at, buyer } = await opening()
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
    await client().setBalance({ address: buyer.key.address, value: 10n ** 18n })
    await withdrawal(buyer, 'initiateWithdraw', [DEPOSIT])
    at.desk.collector.start()
    await expect.poll(() => held(at.terms.payTo)).toBe(2n * PRICE)
    await at.desk.collector.stop()
    const { status, body } = await buy(at, await voucher(buyer, at, 3n * PRICE), '/pulse/ETH')
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe('invalid_batch_settlement_evm_withdrawal_pending')
    await client().increaseTime({ seconds: WITHDRAW_DELAY_SECONDS })
    await withdrawal(buyer, 'finalizeWithdraw', [])
    expect(await held(buyer.key.address)).toBe(FUNDS - 2n * PRICE)
  })

  test('that came through before the claim is told as a loss, and stops no other claim', async () => {
    await onOwnChain()
    const { at, buyer } = await opening()
    const other = await fundedBuyer(at)
    expect((await buy(at, await withDeposit(other, at), '/pulse/SOL')).status).toBe(200)
    await client().setBalance({ address: buyer.key.address, value: 10n ** 18n })
    await withdrawal(buyer, 'initiateWithdraw', [DEPOSIT])
    await client().increaseTime({ seconds: WITHDRAW_DELAY_SECONDS })
    await withdrawal(buyer, 'finalizeWithdraw', [])
    expect(await at.desk.collector.flush()).toBe(true)
    expect(await held(at.terms.payTo)).toBe(PRICE)
    const told = at.desk.events.filter(({ kind }) => kind === 'failed')
    expect(told).toMatchObject([
      { payer: buyer.key.address, reason: expect.stringMatching(/20000/) },
    ])
    expect((await at.desk.collector.unclaimed()).amount).toBe(0n)
  })

  test('that nobody has seen is seen when the mirror is old', async () => {
    const { at, buyer } = await opening()
    await client().setBalance({ address: buyer.key.address, value: 10n ** 18n })
    await withdrawal(buyer, 'initiateWithdraw', [DEPOSIT])
    at.clock.advance((WITHDRAW_DELAY_SECONDS * 1_000) / 3)
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE), '/pulse/ETH')).status).toBe(402)
    expect(await chargedOf(at, buyer)).toBe(PRICE)
  })
})

describe('a refund', () => {
  async function refund(
    { key, config }: Buyer,
    { terms }: Shop,
    cumulative: bigint,
    amount: bigint,
  ) {
    return channelPayment(PRICE, terms, {
      type: 'refund',
      channelConfig: config,
      voucher: await signedVoucher(key, config, cumulative),
      amount: amount.toString(),
    })
  }

  test('runs no handler, sells nothing, and is asked for by nobody else', async () => {
    const { at, buyer } = await opening()
    const runs = at.host.runs()
    const forged = await refund({ ...buyer, key: newBuyer() }, at, PRICE, DEPOSIT)
    expect((await buy(at, forged)).status).toBe(402)
    const { status, text } = await buy(at, await refund(buyer, at, PRICE, DEPOSIT))
    expect(status).toBe(200)
    expect(text).not.toContain('run')
    expect(at.host.runs()).toBe(runs)
    expect(await held(buyer.key.address)).toBe(FUNDS - PRICE)
    expect((await buy(at, await refund(buyer, at, PRICE, DEPOSIT))).status, 'once').toBe(402)
  })

  test('that a block has reverted keeps the channel closed, because its signature is public', async () => {
    const { at, buyer } = await opening()
    vi.spyOn(at.desk.registry.chain, 'refund').mockResolvedValueOnce({
      ...{ kind: 'reverted', reason: 'was mined and reverted' },
      mined: { transactionHash: `0x${'1'.repeat(64)}`, gasUsed: 0n, blockNumber: 0n },
    })
    const reverted = await buy(at, await refund(buyer, at, PRICE, DEPOSIT))
    expect(reverted.body().diagnostics.reason).toMatch(/refund_transaction_failed$/)
    const sale = await buy(at, await voucher(buyer, at, 2n * PRICE))
    expect([sale.status, sale.body().diagnostics.reason]).toEqual([
      ...[402, expect.stringMatching(/withdrawal_pending$/)],
    ])
    expect((await buy(at, await refund(buyer, at, PRICE, DEPOSIT))).status, 'again').toBe(200)
    expect(await held(buyer.key.address)).toBe(FUNDS - PRICE)
  })

  test('that was never sent leaves the channel open', async () => {
    const { at, buyer } = await opening()
    const unsent = { kind: 'unsent', reason: 'no node' } as const
    vi.spyOn(at.desk.registry.chain, 'refund').mockResolvedValueOnce(unsent)
    const refused = await buy(at, await refund(buyer, at, PRICE, DEPOSIT))
    const nothing = { code: 'facilitator_unavailable', charged: false, payment_reusable: true }
    expect(refused.body(), 'its voucher has paid, and it charges nothing').toMatchObject(nothing)
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
  })

  test('of a part is sent once an hour, and of the whole remainder always', async () => {
    const { at, buyer } = await opening()
    const refunds = vi.spyOn(at.desk.registry.chain, 'refund')
    expect((await buy(at, await refund(buyer, at, PRICE, 100_000n))).status).toBe(200)
    const soon = await buy(at, await refund(buyer, at, PRICE, 100_000n))
    expect(soon.body().diagnostics.reason).toMatch(/refund_too_soon$/)
    expect(refunds).toHaveBeenCalledTimes(1)
    at.clock.advance(3_600_000)
    expect((await buy(at, await refund(buyer, at, PRICE, 100_000n))).status).toBe(200)
    expect((await buy(at, await refund(buyer, at, PRICE, DEPOSIT))).status).toBe(200)
  })

  test('that was not sent opens no channel whose refund another gateway has sent', async () => {
    const { at, buyer } = await opening()
    const other = await shop({ payTo: at.terms.payTo, store: at.desk.store })
    const { chain: contract } = other.desk.registry
    const theirs = contract.refund.bind(contract)
    vi.spyOn(contract, 'refund').mockImplementation(async (...args) => {
      await theirs(...args)
      return { kind: 'unknown', reason: 'no receipt', transaction: `0x${'1'.repeat(64)}` }
    })
    vi.spyOn(at.desk.registry.chain, 'refund').mockImplementationOnce(async () => {
      await buy(other, await refund(buyer, at, PRICE, DEPOSIT))
      return { kind: 'unsent', reason: 'no node' }
    })
    await buy(at, await refund(buyer, at, PRICE, DEPOSIT))
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(402)
  })

  test('that waits for one that was not sent closes the channel again', async () => {
    const { at, buyer } = await opening()
    const pending = { kind: 'unknown', reason: 'no receipt', transaction: `0x${'1'.repeat(64)}` }
    const payment = await refund(buyer, at, PRICE, DEPOSIT)
    let second: Promise<unknown> | undefined
    vi.spyOn(at.desk.registry.chain, 'refund')
      .mockImplementationOnce(async () => {
        second = buy(at, payment)
        // Enough for the second one to begin, if it does not wait.
        await new Promise<void>((resolve) => systemClock.after(300, resolve))
        return { kind: 'unsent', reason: 'no node' }
      })
      .mockResolvedValueOnce(pending as TransactionResult)
    await buy(at, payment)
    await second
    const { body } = await buy(at, await voucher(buyer, at, 2n * PRICE))
    expect(body().diagnostics.reason).toMatch(/withdrawal_pending$/)
  })

  test.each([
    ['of a millionth, which costs us more than that', PRICE, 1n, 'refund_amount_invalid'],
    ['of nothing', PRICE, 0n, 'refund_amount_invalid'],
    ['by a voucher over another sum', 2n * PRICE, 500_000n, 'cumulative_amount_mismatch'],
  ])('%s is refused', async (_what, cumulative, amount, reason) => {
    const { at, buyer } = await opening()
    const { status, body } = await buy(at, await refund(buyer, at, cumulative, amount))
    expect(status).toBe(402)
    expect(body().diagnostics.reason).toBe(`invalid_batch_settlement_evm_${reason}`)
    expect(await held(buyer.key.address)).toBe(FUNDS - DEPOSIT)
  })
})

describe('the node', () => {
  test('is not asked for a voucher', async () => {
    const wire = await rpcWire(chain.rpcUrl)
    opened.push(wire)
    const { at, buyer } = await opening({ rpcUrl: wire.url })
    const before = wire.requests()
    for (let count = 2n; count < 12n; count += 1n) {
      expect((await buy(at, await voucher(buyer, at, count * PRICE))).status).toBe(200)
    }
    expect(wire.requests()).toBe(before)
  })

  test('that is down stops deposits and nothing else, and nobody pays for it', async () => {
    const wire = await rpcWire(chain.rpcUrl)
    opened.push(wire)
    const { at, buyer } = await opening({ rpcUrl: wire.url })
    wire.cut()
    const stranger = await fundedBuyer(at)
    const payment = await withDeposit(stranger, at)
    const { status, body } = await buy(at, payment)
    expect(status).toBe(503)
    expect(body()).toMatchObject({ code: 'facilitator_unavailable', payment_reusable: true })
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
    wire.mend()
    expect((await buy(at, payment)).status).toBe(200)
    expect(await held(stranger.key.address)).toBe(FUNDS - DEPOSIT)
  })

  test('that has the block of a deposit before its receipt sells in time', async () => {
    const at = await shop()
    const speak = fetch
    let absent = 3
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      const response = await speak(input, init)
      const call = String(init?.body)
      if (absent === 0 || !call.includes('eth_getTransactionReceipt')) return response
      absent -= 1
      return Response.json({ jsonrpc: '2.0', id: JSON.parse(call).id, result: null })
    })
    expect((await buy(at, await withDeposit(await fundedBuyer(at), at))).status).toBe(200)
    expect(absent).toBe(0)
  })

  /** Its next answer about channels is older than all of them. */
  function behind({ desk }: Shop): void {
    const states = desk.registry.chain.states.bind(desk.registry.chain)
    vi.spyOn(desk.registry.chain, 'states').mockImplementationOnce(async (ids) =>
      (await states(ids)).map((state) => ({ ...state, balance: 0n, claimed: 0n })),
    )
  }

  test('that knows the receipt of a deposit and not its block yet lets nobody deposit twice', async () => {
    const at = await shop()
    const { chain: contract } = at.desk.registry
    const deposit = contract.deposit.bind(contract)
    vi.spyOn(contract, 'deposit').mockImplementationOnce(async (wanted) => {
      const sent = await deposit(wanted)
      behind(at)
      return sent
    })
    const buyer = await fundedBuyer(at)
    const payment = await withDeposit(buyer, at)
    const open = await buy(at, payment)
    expect(open.status, 'a 402 would make the buyer sign another').toBe(503)
    expect(open.body()).toMatchObject({ code: 'settlement_unknown', payment_reusable: true })
    expect((await buy(at, payment)).status).toBe(200)
    expect(await held(buyer.key.address)).toBe(FUNDS - DEPOSIT)
    expect(await chargedOf(at, buyer)).toBe(PRICE)
  })

  test('that was behind once keeps no channel from being claimed', async () => {
    const { at } = await opening()
    behind(at)
    await at.desk.registry.syncAll()
    expect(await at.desk.collector.flush()).toBe(true)
    expect(await held(at.terms.payTo)).toBe(PRICE)
  })

  test('that is down when a claim is due is an alarm, and the claim is tried again', async () => {
    const wire = await rpcWire(chain.rpcUrl)
    opened.push(wire)
    const { at } = await opening({ rpcUrl: wire.url, unclaimedMax: 1n })
    const { collector, events } = at.desk
    wire.cut()
    collector.start()
    await expect.poll(() => events.some(({ kind }) => kind === 'failed')).toBe(true)
    expect(await collector.unclaimed()).toMatchObject({ amount: PRICE })
    wire.mend()
    at.clock.advance(30_000)
    await expect.poll(async () => (await collector.unclaimed()).amount).toBe(0n)
    await collector.stop()
    expect(await held(at.terms.payTo)).toBe(PRICE)
  })
})

describe('a crash', () => {
  test('after the voucher was taken and before the answer left costs nobody anything', async () => {
    const disk = folder()
    const { at, buyer } = await opening({ folder: disk })
    const payment = await voucher(buyer, at, 2n * PRICE)
    const left = cutAfter(at.desk, disk, 'commit')
    expect((await buy(at, payment)).status).toBe(200)
    const again = await shop({ folder: left(), payTo: at.terms.payTo })
    const answer = await buy(again, payment)
    expect(answer.status).toBe(200)
    expect(again.host.runs(), 'the answer was on disk').toBe(0)
    expect(await chargedOf(again, buyer)).toBe(2n * PRICE)
    expect(answer.receipt().extra.chargedAmount).toBe(PRICE.toString())
  })

  test('after a deposit was mined and before its voucher was taken fetches it once', async () => {
    const disk = folder()
    const at = await shop({ folder: disk })
    const buyer = await fundedBuyer(at)
    const payment = await withDeposit(buyer, at)
    const left = cutAfter(at.desk, disk, 'none')
    expect((await buy(at, payment)).status).toBe(200)
    const again = await shop({ folder: left(), payTo: at.terms.payTo })
    expect((await buy(again, payment)).status).toBe(200)
    expect(again.host.runs(), 'the answer was on disk').toBe(0)
    expect(await chargedOf(again, buyer)).toBe(PRICE)
    expect(await held(buyer.key.address)).toBe(FUNDS - DEPOSIT)
  })

  test('before the voucher was taken leaves it unpaid and good', async () => {
    const disk = folder()
    const { at, buyer } = await opening({ folder: disk })
    const payment = await voucher(buyer, at, 2n * PRICE)
    const left = cutAfter(at.desk, disk, 'none')
    expect((await buy(at, payment)).status).toBe(200)
    const again = await shop({ folder: left(), payTo: at.terms.payTo })
    expect(await chargedOf(again, buyer)).toBe(PRICE)
    const statuses = [(await buy(again, payment)).status, (await buy(again, payment)).status]
    expect(statuses.at(-1)).toBe(200)
    expect(await chargedOf(again, buyer)).toBe(2n * PRICE)
  })

  test('after a claim was mined and before it was noted claims nothing twice', async () => {
    const disk = folder()
    const { at, buyer } = await opening({ folder: disk })
    expect((await buy(at, await voucher(buyer, at, 2n * PRICE))).status).toBe(200)
    const left = copyOf(disk)
    expect(await at.desk.collector.flush()).toBe(true)
    expect(await held(at.terms.payTo)).toBe(2n * PRICE)
    const again = await shop({ folder: left, payTo: at.terms.payTo })
    expect((await again.desk.collector.unclaimed()).amount).toBe(2n * PRICE)
    expect(await again.desk.collector.flush()).toBe(true)
    expect((await again.desk.collector.unclaimed()).amount).toBe(0n)
    expect(await held(at.terms.payTo)).toBe(2n * PRICE)
  })

  test('that loses all vouchers lets a channel go on where its payer stands', async () => {
    const { at, buyer } = await opening()
    const again = await shop({ payTo: at.terms.payTo })
    expect((await buy(again, await voucher(buyer, again, 2n * PRICE))).status).toBe(200)
    expect(await again.desk.collector.flush()).toBe(true)
    expect(await held(at.terms.payTo), 'what was lost is in the sum').toBe(2n * PRICE)
  })
})

/** Copies the disk at the instant right after, or before, a voucher was accepted. */
function cutAfter({ store }: ChannelDesk, disk: string, point: 'commit' | 'none'): () => string {
  const commit = store.commit.bind(store)
  let left: string | null = null
  store.commit = (sale, nowMs) => {
    if (point === 'none') left = copyOf(disk)
    const result = commit(sale, nowMs)
    if (point === 'commit') left = copyOf(disk)
    return result
  }
  return () => {
    if (left === null) throw new Error('no voucher was taken')
    return left
  }
}

const transferAbi = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])

const withdrawAbi = [
  {
    type: 'function',
    name: 'initiateWithdraw',
    stateMutability: 'nonpayable',
    outputs: [],
    inputs: [configType(), { name: 'amount', type: 'uint128' }],
  },
  {
    type: 'function',
    name: 'finalizeWithdraw',
    stateMutability: 'nonpayable',
    outputs: [],
    inputs: [configType()],
  },
] as const

function configType() {
  return {
    name: 'config',
    type: 'tuple',
    components: [
      { name: 'payer', type: 'address' },
      { name: 'payerAuthorizer', type: 'address' },
      { name: 'receiver', type: 'address' },
      { name: 'receiverAuthorizer', type: 'address' },
      { name: 'token', type: 'address' },
      { name: 'withdrawDelay', type: 'uint40' },
      { name: 'salt', type: 'bytes32' },
    ],
  } as const
}

async function withdrawal(
  { key, config }: Buyer,
  functionName: 'initiateWithdraw' | 'finalizeWithdraw',
  args: readonly bigint[],
) {
  const call = {
    address: CHANNEL_CONTRACT,
    abi: withdrawAbi,
    functionName,
    args: [config, ...args],
    account: key,
  } as never
  const hash = await client().writeContract(call)
  const { status } = await minedReceipt(client(), hash)
  expect(status).toBe('success')
}

/** The nonce of a payment's deposit. */
function nonceOf({ config }: Buyer, payment: string): Hex {
  const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString())
  const { salt } = payload.deposit.authorization.erc3009Authorization
  return depositNonce(digests.channelId(config), salt)
}

/** Transfers all its money to the dead address. */
async function emptied(account: PrivateKeyAccount): Promise<void> {
  const hash = await client().writeContract({
    ...{ address: base.asset as Address, abi: transferAbi, functionName: 'transfer', account },
    args: ['0x000000000000000000000000000000000000dEaD', await held(account.address)],
  })
  await minedReceipt(client(), hash)
}

function malleated(signature: Hex): Hex {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `0x${signature.slice(2, 66)}${s.toString(16).padStart(64, '0')}${v}`
}
