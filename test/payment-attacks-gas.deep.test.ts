import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import type { ServeOptions } from '../src/config/serve.ts'
import { serveOptions } from '../src/config/serve.ts'
import { ClockCheck } from '../src/payment/clock-check.ts'
import { OwnTurns } from '../src/payment/evm/account-turns.ts'
import type { ExactEvmPayment } from '../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../src/payment/evm/local-facilitator.ts'
import { base } from '../src/payment/evm/networks.ts'
import { transferCall } from '../src/payment/evm/transfer.ts'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { decodeEnvelope } from '../src/payment/payload.ts'
import type { Payment, Settlement } from '../src/payment/payment.ts'
import { termsOf } from '../src/payment/terms.ts'
import { newBuyer } from '../src/payment/testing/buyer.ts'
import {
  channelConfig,
  channelPayment,
  openChannelDesk,
  signedDeposit,
  signedVoucher,
} from '../src/payment/testing/channel-rig.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { evmPayment } from '../src/roles/evm-payment.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { GasGround, Trick } from './attacks/gas.ts'
import { attacks, buy, FUNDS, reportOf, startGasGround } from './attacks/gas.ts'
import { limitOf } from './attacks/recovery.ts'
import { cancelAuthorization } from './support/cancelled-authorization.ts'
import { minedReceipt } from './support/mined-receipt.ts'
import { putUsdc } from './support/usdc-balance.ts'

const FAILED = 'invalid_exact_evm_contract_wallet_failed'
const BARRED = 'invalid_exact_evm_payer_barred'
const SUSPENDED = 'invalid_exact_evm_contract_wallets_suspended'

type Hosted = Awaited<ReturnType<GasGround['hosted']>>

let ground: GasGround
const opened: { close(): Promise<void> }[] = []
let ledgerPath: string

beforeAll(async () => {
  ground = await startGasGround()
})

beforeEach(() => {
  ledgerPath = join(mkdtempSync(join(tmpdir(), 'perpscope-gas-')), 'ledger.db')
})

afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close()
  rmSync(dirname(ledgerPath), { recursive: true })
})

afterAll(() => ground?.close())

async function hosted(options: Parameters<GasGround['hosted']>[0] = {}): Promise<Hosted> {
  const shop = await ground.hosted(options)
  opened.push(shop)
  return shop
}

const blockNow = () => ground.client.getBlockNumber({ cacheTime: 0 })

/** A payment as a facilitator receives it. */
async function payment(shop: Hosted, buyer: PrivateKeyAccount) {
  return read(shop, await ground.paymentOf(buyer))
}

function read({ method }: Hosted, header: string) {
  const [requirement] = termsOf({ priceUsdcAtomic: PRICE, description: 'pulse' }, [
    method,
  ]).requirements
  if (requirement === undefined) throw new TypeError('there is one method')
  const { payload } = decodeEnvelope(header)
  const purchase = { requirement, resourceUrl: 'https://api.example.com/' }
  return method.read(payload, purchase) as ExactEvmPayment & Payment
}

describe('strangers who burn our gas', () => {
  test('pay nothing, cost us less than the option says, and hold up nobody', async () => {
    for (const attack of await attacks(ground)) {
      const report = reportOf(attack)
      process.stdout.write(`${report}\n`)
      expect(attack.atomsSpent, report).toBe(0n)
      expect(attack.gasBurnt, report).toBeLessThanOrEqual(attack.gasPerHourMax)
      expect(attack.gasBurnt, 'or it was no attack').toBeGreaterThan(0n)
      expect(attack.statuses[200], report).toBeUndefined()
      const { duringBlocks, idleBlocks, recovered } = attack.honest
      expect(duringBlocks, report).toBeLessThanOrEqual(limitOf(idleBlocks))
      expect(recovered, report).toBe(true)
    }
  })

  test.each<Trick>(['gas price', 'block number', 'coinbase'])(
    'and tell the transaction by its %s are barred after one',
    async (trick) => {
      const { client } = ground
      const miner = newBuyer().address
      const { host } = await hosted({
        // Between the simulation and the transaction.
        atWork: async () => {
          await client.mine({ blocks: 5 })
          await client.setCoinbase({ address: miner })
        },
      })
      const bounds = { 'block number': (await blockNow()) + 60n, coinbase: BigInt(miner) }
      const bound = trick === 'gas price' || trick === 'gas left' ? 0n : bounds[trick]
      const wallet = await ground.hostileWallet(trick, bound)
      if (trick === 'block number')
        await client.mine({ blocks: Number(bound - (await blockNow()) - 3n) })
      const before = await blockNow()
      const first = await buy(host, await ground.paymentOf(wallet, 'ab'), '/slow/BTC')
      expect(first.status).toBe(402)
      expect(first.reason).toBe(FAILED)
      expect(first.body.diagnostics?.hint).toContain('Pay from an account without code')
      const burnt = await ground.burntSince(before)
      expect(burnt).toBeGreaterThan(280_000n)
      for (const suffix of ['ab', '']) {
        const again = await buy(host, await ground.paymentOf(wallet, suffix), '/slow/BTC')
        expect(again).toMatchObject({ status: 402, reason: BARRED })
      }
      expect(await ground.burntSince(before), 'nothing was sent any more').toBe(burnt)
      expect(host.runs()).toBe(1)
    },
  )

  test('and tell it by the gas that is left fail in the simulation already', async () => {
    const { host } = await hosted()
    const wallet = await ground.hostileWallet('gas left', 197_000n)
    const before = await blockNow()
    const { status, reason } = await buy(host, await ground.paymentOf(wallet, 'ab'))
    expect(status).toBe(402)
    expect(reason).toMatch(/simulation_failed/)
    expect(await ground.burntSince(before)).toBe(0n)
  })

  test('are barred over a restart, and the very payment that failed stays refused', async () => {
    const wallet = await ground.hostileWallet()
    const failing = await ground.paymentOf(wallet, 'ab')
    const first = await ground.hosted({ ledgerPath })
    expect(await buy(first.host, failing)).toMatchObject({ status: 402, reason: FAILED })
    await first.close()
    const { host } = await hosted({ ledgerPath })
    for (const one of [failing, await ground.paymentOf(wallet)])
      expect(await buy(host, one)).toMatchObject({ status: 402, reason: BARRED })
  })

  test('take clones of their code with them, and nobody who has bought here', async () => {
    const { host } = await hosted()
    const regular = await ground.hostileWallet('block number', 10n ** 9n, true)
    expect(await buy(host, await ground.paymentOf(regular))).toMatchObject({ status: 200 })
    for (let count = 0; count < 3; count += 1) {
      const clone = await ground.hostileWallet('gas price', 0n, true)
      expect(await buy(host, await ground.paymentOf(clone))).toMatchObject({ reason: FAILED })
    }
    const fourth = await ground.hostileWallet('gas price', 0n, true)
    expect(await buy(host, await ground.paymentOf(fourth))).toMatchObject({
      status: 402,
      reason: 'invalid_exact_evm_contract_wallet_barred',
    })
    expect(await buy(host, await ground.paymentOf(regular))).toMatchObject({ status: 200 })
  })

  test('end sales to contract wallets for the hour and to no key, and the quote says so', async () => {
    const { host, events } = await hosted({ contractGasPerHour: 600_000n })
    const offered = async () => {
      const quote = await fetch(`${host.url}/pulse/BTC`)
      const header = Buffer.from(quote.headers.get('payment-required') ?? '', 'base64').toString()
      const bodies = [await quote.json(), JSON.parse(header)] as { accepts: { extra: object }[] }[]
      return bodies.map(({ accepts }) => accepts[0]?.extra)
    }
    const regular = await ground.hostileWallet('block number', 10n ** 9n)
    expect(await offered()).toEqual([base.domain, base.domain])
    expect(await buy(host, await ground.paymentOf(regular))).toMatchObject({ status: 200 })
    for (let count = 0; count < 2; count += 1) {
      const { reason } = await buy(host, await ground.paymentOf(await ground.hostileWallet(), 'ab'))
      expect(reason).toBe(FAILED)
    }
    expect(events.filter(({ kind }) => kind === 'suspended')).toHaveLength(1)
    expect(await buy(host, await ground.paymentOf(regular))).toMatchObject({
      status: 402,
      reason: SUSPENDED,
    })
    const key = await ground.funded()
    expect(await buy(host, await ground.paymentOf(key))).toMatchObject({ status: 200 })
    const keysOnly = { ...base.domain, contractWallets: false }
    expect(await offered()).toEqual([keysOnly, keysOnly])
  })
})

describe('an account that delegates to hostile code', () => {
  test('shares a transaction with nobody, and burns its own', async () => {
    const shop = await hosted()
    const [lead, delegated, ...others] = await Promise.all(
      Array.from({ length: 5 }, () => ground.funded()),
    )
    if (lead === undefined || delegated === undefined) throw new TypeError('there are five')
    const hash = await ground.delegate(delegated)
    await minedReceipt(ground.client, hash)
    const payments = await Promise.all(
      [lead, delegated, ...others].map((buyer) => payment(shop, buyer)),
    )
    for (const one of payments) expect(await one.verify()).toEqual({ kind: 'valid' })
    const [first, burnt, ...rest] = await Promise.all(
      payments.map((one) => one.settle('confirmed')),
    )
    expect(burnt).toEqual({ kind: 'rejected', reason: FAILED })
    expect([first, ...rest].map((one) => one?.kind)).toEqual(Array(4).fill('settled'))
    expect(transactionsOf(rest).size, 'the others shared one').toBe(1)
  })

  test('in the last moment burns a shared transaction once, and the others are paid for alone', async () => {
    const shop = await hosted()
    const { client } = ground
    const [lead, racer, ...others] = await Promise.all(
      Array.from({ length: 5 }, () => ground.funded()),
    )
    if (lead === undefined || racer === undefined) throw new TypeError('there are five')
    const payments = await Promise.all([lead, racer, ...others].map((one) => payment(shop, one)))
    for (const one of payments) expect(await one.verify()).toEqual({ kind: 'valid' })
    await client.setAutomine(false)
    let settled: Promise<readonly Settlement[]>
    try {
      settled = Promise.all(payments.map((one) => one.settle('confirmed')))
      await expect.poll(async () => (await client.getTxpoolStatus()).pending).toBe(2)
      await ground.delegate(racer, false, 50_000_000_000n)
      await client.mine({ blocks: 1 })
    } finally {
      await client.setAutomine(true)
    }
    const [first, burnt, ...rest] = await settled
    expect(burnt).toEqual({ kind: 'rejected', reason: FAILED })
    expect([first, ...rest].map((one) => one?.kind)).toEqual(Array(4).fill('settled'))
    expect(transactionsOf(rest).size, 'each alone').toBe(3)
    for (const { address } of others)
      expect(await ground.chain.balanceOf(address)).toBe(FUNDS - PRICE)
    expect(shop.events.filter(({ kind }) => kind === 'burnt')).toHaveLength(1)
    expect(await shop.facilitator.verify(await payment(shop, racer))).toEqual({
      kind: 'invalid',
      reason: BARRED,
    })
  })

  test('is refused where contract wallets are off, and a key is not', async () => {
    const { host } = await hosted({ contractWallets: 'off' })
    const delegated = await ground.funded()
    const hash = await ground.delegate(delegated)
    await minedReceipt(ground.client, hash)
    const contract = await ground.hostileWallet('block number', 10n ** 9n)
    for (const one of [
      await ground.paymentOf(delegated),
      await ground.paymentOf(contract),
      await ground.paymentOf(contract, 'ab'),
    ])
      expect(await buy(host, one)).toMatchObject({
        status: 402,
        reason: 'invalid_exact_evm_contract_wallets_not_accepted',
      })
    const key = await ground.funded()
    expect(await buy(host, await ground.paymentOf(key))).toMatchObject({ status: 200 })
  })
})

test('a deposit into a channel by an account with code is refused before it is sent', async () => {
  const { chain } = ground
  const desk = openChannelDesk({
    ...{ rpcUrl: chain.rpcUrl, key: chain.accounts.facilitator.privateKey },
    ...{ payTo: ground.payTo, clock: systemClock },
  })
  const host = await startPaidHost({
    payTo: ground.payTo,
    facilitator: {} as never,
    methods: [desk.method],
    clock: systemClock,
  })
  opened.push(host, { close: async () => desk.store.close() })
  const terms = { payTo: ground.payTo, authorizer: chain.accounts.facilitator.address }
  const validBefore = BigInt(Math.floor(systemClock.nowMs() / 1_000) + 120)
  const deposit = async (buyer: PrivateKeyAccount) => {
    const config = channelConfig(buyer.address, terms)
    const payment = channelPayment(PRICE, terms, {
      type: 'deposit',
      channelConfig: config,
      voucher: await signedVoucher(buyer, config, PRICE),
      deposit: await signedDeposit(buyer, config, FUNDS, validBefore),
    })
    return buy(host, payment, '/pulse/BTC', 'payment-signature')
  }
  const delegated = await ground.funded()
  const hash = await ground.delegate(delegated)
  await minedReceipt(ground.client, hash)
  const before = await blockNow()
  expect(await deposit(delegated)).toMatchObject({
    status: 402,
    reason: 'invalid_batch_settlement_evm_contract_wallets_not_accepted',
  })
  expect(await ground.burntSince(before)).toBe(0n)
  expect(await deposit(await ground.funded())).toMatchObject({ status: 200 })
})

test('an operator has a counter, a gauge and one line at level error, also after a restart', async () => {
  const { rpcUrl, accounts } = ground.chain
  const command = new Command().exitOverride()
  for (const option of serveOptions) command.addOption(option)
  const flags = [
    ...['--pay-to', ground.payTo, '--rpc-url', rpcUrl],
    ...['--facilitator-key', accounts.facilitator.privateKey],
    ...['--contract-gas-per-hour', '300000'],
  ]
  const options = command.parse(flags, { from: 'user' }).opts<ServeOptions>()
  const ledger = new SqliteLedger(':memory:')
  const started = async () => {
    const lines: { level: number; msg: string; until?: string }[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const metrics = new Registry()
    const clock = new ClockCheck({ clock: systemClock })
    const turnsOf = () => new OwnTurns()
    const selling = {
      clock,
      watches: [],
      failures: ledger.failures,
      turnsOf,
      recordCost: () => undefined,
    }
    const { method } = await evmPayment(options, log, null, metrics, selling)
    const shown = async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values
    const alarms = () => lines.filter(({ level }) => level >= 50)
    return { method, shown, alarms }
  }
  const { method, shown, alarms } = await started()
  const host = await startPaidHost({
    payTo: ground.payTo,
    facilitator: {} as never,
    methods: [method],
    ledger,
    clock: systemClock,
  })
  opened.push(host)
  expect(await shown('perpscope_contract_wallets_suspended')).toMatchObject([{ value: 0 }])
  const before = await blockNow()
  const { reason } = await buy(host, await ground.paymentOf(await ground.hostileWallet(), 'ab'))
  expect(reason).toBe(FAILED)
  const burnt = Number(await ground.burntSince(before))
  expect(await shown('perpscope_failed_gas_total')).toMatchObject([
    { labels: { payer: 'contract' }, value: burnt },
    { labels: { payer: 'key' }, value: 0 },
  ])
  expect(await shown('perpscope_contract_wallets_suspended')).toMatchObject([{ value: 1 }])
  const alarm = { msg: expect.stringMatching(/^contract wallets are suspended/) }
  expect(alarms()).toMatchObject([alarm])
  const again = await started()
  expect(again.alarms()).toMatchObject([alarm])
  expect(await again.shown('perpscope_contract_wallets_suspended')).toMatchObject([{ value: 1 }])
})

test('an answer is not given to a contract wallet on a mere broadcast', async () => {
  const shop = await hosted()
  const one = await payment(shop, await ground.hostileWallet())
  expect(await one.verify()).toEqual({ kind: 'valid' })
  expect(await one.settle('broadcast')).toEqual({ kind: 'rejected', reason: FAILED })
  const other = await payment(shop, await ground.hostileWallet('block number', 10n ** 9n))
  await other.verify()
  expect(await other.settle('broadcast')).toMatchObject({ kind: 'settled', isFinal: true })
})

test('a key that is emptied between verification and settlement is barred by the third time', async () => {
  const buyer = await ground.funded(newBuyer(), PRICE)
  let drain = async () => {}
  const { host } = await hosted({ atWork: () => drain() })
  const drainer = await hosted()
  for (let count = 0; count < 3; count += 1) {
    if ((await ground.chain.balanceOf(buyer.address)) === 0n)
      await putUsdc(ground.chain, buyer.address, PRICE)
    const elsewhere = await payment(drainer, buyer)
    drain = async () => void (await elsewhere.settle('confirmed'))
    const { status, reason } = await buy(host, await ground.paymentOf(buyer), '/slow/BTC')
    expect({ status, reason }).toEqual({ status: 402, reason: 'insufficient_funds' })
  }
  await putUsdc(ground.chain, buyer.address, PRICE)
  const { status, reason } = await buy(host, await ground.paymentOf(buyer))
  expect({ status, reason }).toEqual({ status: 402, reason: BARRED })
})

test('a key that cancels its payment between verification and settlement is barred by the third time', async () => {
  const buyer = await ground.funded()
  let cancel = async () => {}
  const shop = await hosted({ atWork: () => cancel() })
  const { host } = shop
  for (let count = 0; count < 3; count += 1) {
    const header = await ground.paymentOf(buyer)
    const { nonce } = read(shop, header).authorization
    cancel = () => cancelAuthorization(ground.chain, buyer, nonce)
    const { status, reason } = await buy(host, header, '/slow/BTC')
    expect(status).toBe(402)
    expect(reason).toMatch(/nonce_already_used/)
  }
  expect(await buy(host, await ground.paymentOf(buyer))).toMatchObject({
    status: 402,
    reason: BARRED,
  })
})

describe('a key whose transaction waits longer than its settlement', () => {
  /** Before the block of a transaction whose buyer was answered with `settlement_unknown`. */
  type Meanwhile = (buyer: PrivateKeyAccount, nonce: Hex) => Promise<unknown>
  const TIP = 50_000_000_000n
  const cancels: Meanwhile = (buyer, nonce) => cancelAuthorization(ground.chain, buyer, nonce, TIP)

  /** A buyer with two strikes, and then `waits`, which returns what finds the late outcome. */
  async function struckTwice(options: Parameters<GasGround['hosted']>[0] = {}) {
    const buyer = await ground.funded()
    let cancel = async () => {}
    const shop = await ground.hosted({ ...options, atWork: () => cancel() })
    for (let count = 0; count < 2; count += 1) {
      const header = await ground.paymentOf(buyer)
      const { nonce } = read(shop, header).authorization
      cancel = () => cancelAuthorization(ground.chain, buyer, nonce)
      expect((await buy(shop.host, header, '/slow/BTC')).status).toBe(402)
    }
    expect(burnt(shop)).toBe(2)
    return { buyer, shop }
  }

  const burnt = ({ events }: Hosted) => events.filter(({ kind }) => kind === 'burnt').length

  /** A chain of this test alone, because chain time cannot be set back. */
  async function onOwnChain() {
    const shared = ground
    ground = await startGasGround()
    onTestFinished(async () => {
      await ground.close()
      ground = shared
    })
  }

  /** Below that of a payment that is made when it has passed. */
  const EXPIRING_SECONDS = 60

  type Waiting = {
    /** After the answer, with nothing mined yet. */
    readonly between?: (validBefore: bigint) => Promise<void>
    readonly validSeconds?: number
  }

  async function waitsTooLong(
    { buyer, shop }: Awaited<ReturnType<typeof struckTwice>>,
    meanwhile: Meanwhile,
    { between = async () => {}, validSeconds }: Waiting = {},
  ) {
    const { client } = ground
    const header = await ground.paymentOf(buyer, '', validSeconds)
    const { nonce, validBefore } = read(shop, header).authorization
    await client.setAutomine(false)
    try {
      const { reason } = await buy(shop.host, header)
      expect(reason).toBe('settlement_unknown')
      await between(validBefore)
      const done = meanwhile(buyer, nonce)
      // Into one block, and what pays more comes first.
      await expect
        .poll(async () => (await client.getTxpoolStatus()).pending)
        .toBeGreaterThanOrEqual(meanwhile === cancels ? 2 : 1)
      await client.mine({ blocks: 1 })
      await done
    } finally {
      await client.setAutomine(true)
    }
  }

  const found = (shop: Hosted, count: number) =>
    expect.poll(() => burnt(shop), { timeout: 30_000 }).toBe(count)

  test.each([
    ['cancels', cancels],
    [
      'is emptied',
      async (buyer: PrivateKeyAccount) => putUsdc(ground.chain, buyer.address, PRICE - 1n),
    ],
  ] as const)('and %s meanwhile is barred by the third time', async (_what, meanwhile) => {
    const { buyer, shop } = await struckTwice()
    opened.push(shop)
    await waitsTooLong({ buyer, shop }, meanwhile)
    await found(shop, 3)
    await putUsdc(ground.chain, buyer.address, FUNDS)
    const { status, reason } = await buy(shop.host, await ground.paymentOf(buyer))
    expect({ status, reason }).toEqual({ status: 402, reason: BARRED })
  })

  test('and whose nonce a block has cancelled stays open until a block has its transaction', async () => {
    const buyer = await ground.funded()
    const shop = await hosted()
    const { client } = ground
    const one = await payment(shop, buyer)
    await one.verify()
    const { gasLimit } = await client.getBlock()
    await client.setAutomine(false)
    try {
      const settled = await one.settle('confirmed')
      const sent = 'transaction' in settled ? settled.transaction : null
      expect(settled.kind).toBe('unknown')
      const cancelled = cancels(buyer, one.authorization.nonce)
      await expect.poll(async () => (await client.getTxpoolStatus()).pending).toBe(2)
      // Room for the cancellation alone.
      await client.setBlockGasLimit({ gasLimit: 150_000n })
      await client.mine({ blocks: 1 })
      await cancelled
      expect(await one.outcome(sent)).toMatchObject({ kind: 'unknown' })
      expect(burnt(shop)).toBe(0)
      await client.setBlockGasLimit({ gasLimit })
      await client.mine({ blocks: 1 })
      expect(await one.outcome(sent)).toMatchObject({ kind: 'forfeited' })
      expect(burnt(shop)).toBe(1)
    } finally {
      await client.setBlockGasLimit({ gasLimit })
      await client.setAutomine(true)
    }
  })

  test('is barred also by another process than the one that sent it', async () => {
    const { buyer, shop } = await struckTwice({ ledgerPath })
    await waitsTooLong({ buyer, shop }, cancels, { between: () => shop.close() })
    const next = await hosted({ ledgerPath })
    await found(next, 1)
    const { status, reason } = await buy(next.host, await ground.paymentOf(buyer))
    expect({ status, reason }).toEqual({ status: 402, reason: BARRED })
  })

  test('is not barred if a stranger submits it, also where that is found after its expiry', async () => {
    await onOwnChain()
    const buyer = await ground.funded()
    const shop = await hosted()
    const { client } = ground
    const one = read(shop, await ground.paymentOf(buyer, '', EXPIRING_SECONDS))
    const { validBefore } = one.authorization
    await one.verify()
    const failed = vi.spyOn(shop.facilitator.payers, 'failed')
    await client.setAutomine(false)
    try {
      const settled = await one.settle('confirmed')
      expect(settled.kind).toBe('unknown')
      await client.setNextBlockTimestamp({ timestamp: validBefore - 1n })
      const stranger = privateKeyToAccount(ground.chain.accounts.buyer.privateKey)
      const fees = { maxPriorityFeePerGas: TIP, maxFeePerGas: 2n * TIP + 10_000_000_000n }
      const nonce = await client.getTransactionCount({ ...stranger, blockTag: 'pending' })
      await client.sendTransaction({ account: stranger, ...transferCall(one), ...fees, nonce })
      await client.mine({ blocks: 1 })
      await client.setNextBlockTimestamp({ timestamp: validBefore })
      await client.mine({ blocks: 1 })
      const sent = 'transaction' in settled ? settled.transaction : null
      expect(await one.outcome(sent)).toMatchObject({ kind: 'settled' })
      expect(failed.mock.calls).toMatchObject([[{ transaction: sent, strikes: 0 }]])
    } finally {
      await client.setAutomine(true)
    }
  })

  test('is not barred if the authorization has expired by then', async () => {
    await onOwnChain()
    const { buyer, shop } = await struckTwice()
    opened.push(shop)
    await waitsTooLong({ buyer, shop }, async () => {}, {
      validSeconds: EXPIRING_SECONDS,
      between: (timestamp) => ground.client.setNextBlockTimestamp({ timestamp }),
    })
    await found(shop, 3)
    const { status, reason } = await buy(shop.host, await ground.paymentOf(buyer))
    expect({ status, reason }).toEqual({ status: 200, reason: null })
  })
})

test('a key whose payments others submit before us is not barred', async () => {
  const buyer = await ground.funded()
  let submit = async () => {}
  const shop = await hosted({ atWork: () => submit() })
  const { host, events } = shop
  const stranger = localFacilitator({
    ...{ network: base, rpcUrl: ground.chain.rpcUrl, clock: systemClock },
    privateKey: ground.chain.accounts.buyer.privateKey,
  })
  for (let count = 0; count < 4; count += 1) {
    const header = await ground.paymentOf(buyer)
    submit = async () => void (await stranger.settle(read(shop, header)))
    expect(await buy(host, header, '/slow/BTC')).toMatchObject({ status: 200 })
  }
  expect(events.filter(({ kind }) => kind === 'burnt')).toHaveLength(4)
})

function transactionsOf(settlements: readonly Settlement[]): ReadonlySet<string | null> {
  return new Set(settlements.map((one) => ('transaction' in one ? one.transaction : null)))
}
