import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { checkServeOptions } from '../src/config/check-serve.ts'
import type { ServeOptions } from '../src/config/serve.ts'
import { serveOptions } from '../src/config/serve.ts'
import { base, baseSepolia } from '../src/payment/evm/networks.ts'
import { publicNodes } from '../src/payment/public-nodes.ts'
import { solanaDevnet, solanaMainnet } from '../src/payment/solana/networks.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { PRICE, startPaidHost } from '../src/payment/testing/paid-host.ts'
import { hostedFacilitators } from '../src/roles/hosted-facilitators.ts'
import { paymentMethods } from '../src/roles/payment-methods.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { exactEvmMechanism } from './facilitator/exact-evm-mechanism.ts'
import type { FacilitatorFaultName } from './facilitator/facilitator-fault.ts'
import { facilitatorFaults } from './facilitator/facilitator-fault.ts'
import { startSimulatedFacilitator } from './facilitator/simulated-facilitator.ts'

const FUNDS = 1_000_000n
const README = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

let chain: EvmChain
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
})

afterAll(() => chain?.close())

/** The first `serve` command of the README, with a real address and facilitator. */
function optionsOfReadme(facilitatorUrl: string, more: readonly string[] = []): ServeOptions {
  const [, args = ''] = /^node dist\/main\.js serve (--pay-to .*?)\s*(?:#.*)?$/m.exec(README) ?? []
  const words = args
    .replace('0xYourAddress', chain.accounts.merchant.address)
    .replace(/https:\/\/\S+/, facilitatorUrl)
    .split(' ')
  const command = new Command().exitOverride()
  for (const option of serveOptions) command.addOption(option)
  const options: ServeOptions = command.parse([...words, ...more], { from: 'user' }).opts()
  checkServeOptions(options)
  return options
}

/** Its settlement, with the local chain's node in place of the public one, and one buyer's payment. */
async function sellingAsReadme(fault: FacilitatorFaultName, more: readonly string[] = []) {
  let lost = true
  const facilitator = await startSimulatedFacilitator({
    mechanism: exactEvmMechanism(chain.rpcUrl, chain.accounts.facilitator.privateKey),
    clock: systemClock,
    faultOf: ({ operation }) => (lost && operation === 'settle' ? facilitatorFaults[fault] : null),
  })
  opened.push(facilitator)
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const options = optionsOfReadme(facilitator.url, more)
  const nodes = { ...publicNodes, [base.network]: chain.rpcUrl }
  const hosted = hostedFacilitators(options, log)
  const { methods } = await paymentMethods(options, log, hosted, new Registry(), null, nodes)
  const host = await startPaidHost({
    payTo: options.payTo ?? '',
    facilitator: { verify: never, settle: never, outcome: never },
    methods,
    clock: systemClock,
  })
  opened.push(host)
  const buyer = newBuyer()
  await chain.fundUsdc(buyer.address, FUNDS)
  const payTo = chain.accounts.merchant.address
  const payment = encodedPayment(
    await signedPayload(buyer, { amount: PRICE, payTo, nowMs: systemClock.nowMs() }),
  )
  const buy = async () => {
    const headers = { 'payment-signature': payment }
    const response = await fetch(`${host.url}/pulse/BTC`, { headers })
    return { status: response.status, body: (await response.json()) as { code?: string } }
  }
  return {
    buy,
    runs: host.runs,
    log: () => lines.join(''),
    spent: async () => FUNDS - (await chain.balanceOf(buyer.address)),
    settlements: () => facilitator.calls.settle,
    recover: () => {
      lost = false
    },
  }
}

const never = () => Promise.reject(new Error('another one settles'))

test.each(['drops its answer', 'acts and fails', 'acts and talks garbage', 'pending'] as const)(
  "the README's first serve gives the answer when the reply to a settlement is lost: %s",
  async (fault) => {
    const shop = await sellingAsReadme(fault)
    expect((await shop.buy()).body).toMatchObject({ code: 'settlement_unknown', charged: null })
    expect((await shop.buy()).status, 'the facilitator never says a word of it').toBe(200)
    expect(shop.settlements(), 'the node did').toBe(1)
    expect(shop.runs(), 'the answer is the stored one').toBe(1)
    expect(await shop.spent()).toBe(PRICE)
    expect(shop.log()).toContain(`${chain.rpcUrl} is asked for outcomes of payments`)
    expect(shop.log()).toContain(chain.accounts.merchant.address)
  },
)

test("the README's first serve takes nothing for a settlement that never was, and sells it then", async () => {
  const shop = await sellingAsReadme('cut')
  expect((await shop.buy()).body).toMatchObject({ code: 'settlement_unknown', charged: null })
  expect(await shop.spent()).toBe(0n)
  shop.recover()
  expect((await shop.buy()).status).toBe(200)
  expect(await shop.spent()).toBe(PRICE)
})

test('where that is turned off, the log names the risk, which is real', async () => {
  const shop = await sellingAsReadme('drops its answer', ['--outcome-node', 'off'])
  expect(shop.log()).toContain('the buyer has paid and never gets the answer')
  for (const _ of [1, 2])
    expect((await shop.buy()).body).toMatchObject({ code: 'settlement_unknown', charged: null })
  expect(await shop.spent()).toBe(PRICE)
})

test('every network has a public node', () => {
  const networks = [base, baseSepolia, solanaMainnet, solanaDevnet].map(({ network }) => network)
  expect(Object.keys(publicNodes)).toEqual(networks)
  for (const url of Object.values(publicNodes)) expect(url).toMatch(/^https:\/\/[a-z.-]+$/)
})
