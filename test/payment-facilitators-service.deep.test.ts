import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import { exactEvmMechanism } from './facilitator/exact-evm-mechanism.ts'
import type { FacilitatorFault } from './facilitator/facilitator-fault.ts'
import { facilitatorFaults } from './facilitator/facilitator-fault.ts'
import type { FacilitatorOperation } from './facilitator/simulated-facilitator.ts'
import { startSimulatedFacilitator } from './facilitator/simulated-facilitator.ts'
import { fewCoins, runCommand, untilAnswerable } from './support/service.ts'
import { putUsdc } from './support/usdc-balance.ts'

/** The built service with hosted facilitators; their behaviour is the matter of `payment-facilitators`. */

const MAIN = join(import.meta.dirname, '../dist/main.js')
const FUNDS = 1_000_000n

let chain: EvmChain
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  chain = await startEvmChain({ clock: systemClock })
})

afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close()
})

afterAll(() => chain?.close())

async function facilitator() {
  const faults = new Map<FacilitatorOperation, FacilitatorFault>()
  const simulated = await startSimulatedFacilitator({
    mechanism: exactEvmMechanism(chain.rpcUrl, chain.accounts.facilitator.privateKey),
    clock: systemClock,
    faultOf: ({ operation }) => faults.get(operation) ?? null,
  })
  opened.push(simulated)
  return { ...simulated, faults }
}

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-facilitators-'))
  opened.push({ close: () => rm(folder, { recursive: true }) })
  return folder
}

test('serve does not start with a facilitator that does not support our terms', async () => {
  const { url } = await facilitator()
  const { code, errors } = await runCommand([
    ...['serve', '--pay-to', chain.accounts.merchant.address, '--facilitator-url', url],
    // An occupied port, so that it ends also if it gets as far as listening.
    ...['--port', new URL(url).port, '--admin-port', '0', '--data-dir', await dataFolder()],
    // Tests use no public node.
    ...['--outcome-node', 'off', '--network', 'base-sepolia'],
  ])
  expect(code).toBe(78)
  expect(errors).toContain(
    `${url} (--facilitator-url) answers and does not support exact on eip155:84532`,
  )
})

test('serve starts without a facilitator that is down, sells through the second if the first does not answer, and reports both without secrets', async () => {
  const [first, second, gone] = [await facilitator(), await facilitator(), await facilitator()]
  await gone.goDown()
  const venue = launch(MAIN, ['simulate', ...fewCoins, '--weight-per-minute', '60000'], 'pipe')
  opened.push({ close: () => end(venue) })
  const started = JSON.parse(await firstLineOf(venue)) as { venue: { http: string } }
  const dataDir = await dataFolder()
  const [port, adminPort] = [await freePort(), await freePort()]
  let stop = async () => {}
  const ended = runCommand(
    [
      ...['serve', '--source', started.venue.http, '--weight-per-minute', '50000'],
      ...['--port', String(port), '--admin-port', String(adminPort), '--data-dir', dataDir],
      ...['--pay-to', chain.accounts.merchant.address, '--rpc-url', chain.rpcUrl],
      ...['--facilitator-url', first.url, '--facilitator-url', second.url],
      ...['--facilitator-url', `${gone.url}/f00dfeed`, '--outside', 'off', '--log-level', 'warn'],
    ],
    {
      onStart: (child) => {
        stop = () => end(child)
      },
    },
  )
  try {
    const url = `http://127.0.0.1:${port}`
    await untilAnswerable(url, 'BTC')
    expect(first.calls.supported, 'asked before anything was sold').toBeGreaterThan(0)
    // Probes fail too; otherwise it would be in use again before a slow machine has sold.
    for (const operation of ['verify', 'supported'] as const)
      first.faults.set(operation, facilitatorFaults['status 500'])
    const buyer = newBuyer()
    await putUsdc(chain, buyer.address, FUNDS)
    const amount = pulse.contract.priceUsdcAtomic
    const payTo = chain.accounts.merchant.address
    const signed = await signedPayload(buyer, { amount, payTo, nowMs: systemClock.nowMs() })
    const headers = { 'payment-signature': encodedPayment(signed) }
    expect((await fetch(`${url}/pulse/BTC`, { headers })).status).toBe(200)
    expect(await chain.balanceOf(buyer.address)).toBe(FUNDS - amount)
    expect([first.calls.settle, second.calls.settle]).toEqual([0, 1])
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    for (const [name, of, value] of [
      ['in_use', second, 1],
      ['up', first, 0],
      ['up', gone, 0],
    ] as const)
      expect(metrics).toContain(`perpscope_facilitator_${name}{facilitator="${of.url}"} ${value}`)
    expect(metrics).not.toContain('f00dfeed')
  } finally {
    await stop()
  }
  const { errors } = await ended
  const notices = errors
    .split('\n')
    .filter((line) => line.includes('the facilitator is out of service'))
  for (const { url } of [first, gone]) expect(notices).toContainEqual(expect.stringContaining(url))
  expect(errors).not.toContain('f00dfeed')
})
