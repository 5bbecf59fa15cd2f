import { Agent, request } from 'node:http'
import { pathToFileURL } from 'node:url'
import { ContractWallets } from '../../src/payment/evm/contract-wallets.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../../src/payment/evm/local-facilitator.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { nodeClient } from '../../src/payment/evm/node-client.ts'
import { limitsByDefault } from '../../src/payment/payment-limits.ts'
import { newSolanaBuyer } from '../../src/payment/solana/testing/solana-buyer.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { PRICE, startPaidHost } from '../../src/payment/testing/paid-host.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import type { RpcWire } from '../support/rpc-wire.ts'
import { rpcWire } from '../support/rpc-wire.ts'
import { solanaRig } from '../support/solana-rig.ts'
import { measureRecovery } from './recovery.ts'

/**
 * Attackers without funds send payments with valid or forged signatures. Measures their cost at our node and their
 * effect on other buyers. Run by hand: `npx tsx test/attacks/node-questions.ts`.
 */

/** A service with default limits, and a node whose requests are counted. */
export type Target = {
  readonly name: string
  readonly node: RpcWire
  readonly url: string
  /** A payment of an empty wallet. */
  poorPayment(): Promise<string>
  /** A payment that is refused without a node. */
  wrongPayment(): Promise<string>
  /** A payment that names a payer and is signed by another key; null if that needs no node. */
  readonly forgedPayment: (() => Promise<string>) | null
  /** A payment of a funded wallet that has bought here before. */
  knownPayment(): Promise<string>
  close(): Promise<void>
}

export type Flood = {
  readonly requests: number
  readonly statuses: Readonly<Record<number, number>>
  readonly nodeCalls: number
  /** Node calls per request beyond the first ten of each address. */
  readonly callsPerRequest: number
}

/** Rate limit of a provider's free plan. */
const NODE_REQUESTS_PER_SECOND = 25
export const PURCHASES = 10
const SIEGE_ADDRESSES = 300
const SIEGE_PAYMENTS = 300
const SPARED_REQUESTS = 10
/** Forty requests a second: more than the node answers, few enough to leave processor time for purchases. */
const SIEGE_AT_ONCE = 4
const SIEGE_PAUSE_MS = 100
/** Connections of the strangers: a service that is slow for another reason is not asked more often than it answers. */
const SIEGE_PENDING_MAX = 40
/** Each purchase sends five requests to the node. */
const PURCHASE_PAUSE_MS = 400
/** Tolerance for a busy machine; the status on Solana is polled every 200 ms. */
export const NOISE_MS = 500
/** A wallet may buy 20 times a minute. */
const KNOWN_WALLETS = 4

export async function openBase(): Promise<Target> {
  const chain = await startEvmChain({ clock: systemClock })
  const node = await rpcWire(chain.rpcUrl, { perSecondMax: NODE_REQUESTS_PER_SECOND })
  const payTo = chain.accounts.merchant.address
  const facilitator = localFacilitator({
    network: base,
    rpcUrl: node.url,
    privateKey: chain.accounts.facilitator.privateKey,
    clock: systemClock,
  })
  const contractWallets = new ContractWallets(nodeClient(base, node.url))
  const host = await startPaidHost({
    payTo,
    facilitator,
    methods: [exactEvm({ network: base, payTo, facilitator, contractWallets })],
    clock: systemClock,
    limits: limitsByDefault,
  })
  const signed = (buyer: ReturnType<typeof newBuyer>, amount = PRICE) =>
    signedPayload(buyer, { amount, payTo, nowMs: systemClock.nowMs() })
  const known = Array.from({ length: KNOWN_WALLETS }, newBuyer)
  for (const { address } of known) await chain.fundUsdc(address, 100n * PRICE)
  return target({
    name: 'Base',
    node,
    url: host.url,
    poorPayment: async () => encodedPayment(await signed(newBuyer())),
    wrongPayment: async () => encodedPayment(await signed(newBuyer(), 1n)),
    forgedPayment: async () =>
      encodedPayment(await signed({ ...newBuyer(), address: newBuyer().address })),
    paymentOf: async (index) => encodedPayment(await signed(known[index] ?? newBuyer())),
    close: async () => {
      await host.close()
      await node.close()
      await chain.close()
    },
  })
}

export async function openSolana(): Promise<Target> {
  const chain = await startSolanaChain({ clock: systemClock })
  const node = await rpcWire(chain.rpcUrl, { perSecondMax: NODE_REQUESTS_PER_SECOND })
  const rig = solanaRig(chain)
  const host = await rig.hosted({ limits: limitsByDefault }, rig.facilitator({ rpcUrl: node.url }))
  let memos = 0
  const known = Array.from({ length: KNOWN_WALLETS }, () => rig.fundedBuyer(100n * PRICE))
  return target({
    name: 'Solana',
    node,
    url: host.url,
    poorPayment: () => rig.paymentOf(newSolanaBuyer()),
    wrongPayment: () => rig.paymentOf(newSolanaBuyer(), { amount: 1n }),
    forgedPayment: null,
    // Two payments of one wallet by one blockhash differ in their memo.
    paymentOf: (index) => {
      memos += 1
      return rig.paymentOf(known[index] ?? newSolanaBuyer(), { memo: `purchase ${memos}` })
    },
    close: async () => {
      await host.close()
      await node.close()
      await chain.close()
    },
  })
}

/** Every known wallet has bought once. */
async function target({
  paymentOf,
  ...rest
}: Omit<Target, 'knownPayment'> & {
  readonly paymentOf: (index: number) => Promise<string>
}): Promise<Target> {
  for (let index = 0; index < KNOWN_WALLETS; index += 1) {
    const { status } = await send(rest.url, await paymentOf(index), '127.0.0.1')
    if (status !== 200) throw new Error(`the first purchase of a wallet ended in ${status}`)
  }
  let purchases = 0
  return { ...rest, knownPayment: () => paymentOf(purchases++ % KNOWN_WALLETS) }
}

/** @param addresses from which the payments come in turn */
export async function flood(
  { node, url }: Target,
  payments: readonly string[],
  how: 'concurrent' | 'sequential',
  addresses: readonly string[],
): Promise<Flood> {
  const before = node.requests()
  const statuses: Record<number, number> = {}
  const sent = async (payment: string, index: number) => {
    const { status } = await send(url, payment, addresses[index % addresses.length] ?? '')
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  if (how === 'concurrent') await Promise.all(payments.map(sent))
  else for (const [index, payment] of payments.entries()) await sent(payment, index)
  const nodeCalls = node.requests() - before
  const spared = SPARED_REQUESTS * addresses.length
  const beyond = Math.max(1, payments.length - spared)
  const callsPerRequest = Math.max(0, nodeCalls - spared) / beyond
  return { requests: payments.length, statuses, nodeCalls, callsPerRequest }
}

/** Purchases of known wallets. @returns their statuses and median duration */
async function purchases({ knownPayment, url }: Target, count: number) {
  const tookMs: number[] = []
  const statuses: number[] = []
  for (let bought = 0; bought < count; bought += 1) {
    const payment = await knownPayment()
    const startMs = performance.now()
    statuses.push((await send(url, payment, '127.0.0.1')).status)
    tookMs.push(performance.now() - startMs)
    await wait(PURCHASE_PAUSE_MS)
  }
  tookMs.sort((a, b) => a - b)
  return { statuses, medianMs: tookMs[Math.floor(count / 2)] ?? Number.NaN }
}

export type Siege = {
  readonly requests: number
  readonly lastedSeconds: number
  /** Includes the requests of the purchases. */
  readonly busiestNodeSecond: number
  readonly bought: number
  readonly idleMs: number
  /** Duration under as many requests that need no node (see `measureRecovery`): the cost of processor time. */
  readonly controlMs: number
  readonly attackedMs: number
  readonly recovered: boolean
}

/** Effect of unfunded payments from many addresses on a known buyer. */
export async function siege(attacked: Target): Promise<Siege> {
  const [wrong, poor] = [
    await signedMany(SIEGE_PAYMENTS, attacked.wrongPayment),
    await signedMany(SIEGE_PAYMENTS, attacked.poorPayment),
  ]
  const idle = await purchases(attacked, PURCHASES)
  const controlMs = async () => {
    let control = idle
    await besieged(attacked, wrong, freshAddresses(SIEGE_ADDRESSES), async () => {
      control = await purchases(attacked, PURCHASES)
    })
    return control.statuses.every((status) => status === 200)
      ? control.medianMs
      : Number.POSITIVE_INFINITY
  }
  const beforeMs = await controlMs()
  let under = idle
  const startMs = performance.now()
  const requests = await besieged(attacked, poor, freshAddresses(SIEGE_ADDRESSES), async () => {
    under = await purchases(attacked, PURCHASES)
  })
  const lastedSeconds = (performance.now() - startMs) / 1_000
  const busiestNodeSecond = attacked.node.busiestSecond(startMs)
  const { control, recovered } = await measureRecovery(beforeMs, controlMs, NOISE_MS)
  return {
    requests,
    lastedSeconds,
    busiestNodeSecond,
    bought: under.statuses.filter((status) => status === 200).length,
    idleMs: idle.medianMs,
    controlMs: control,
    attackedMs: under.medianMs,
    recovered,
  }
}

/** Sends payments from many addresses while `work` runs. @returns their number */
async function besieged(
  { url }: Target,
  payments: readonly string[],
  addresses: readonly string[],
  work: () => Promise<unknown>,
): Promise<number> {
  let isOver = false
  const working = work().finally(() => {
    isOver = true
  })
  let sent = 0
  const pending = new Set<Promise<unknown>>()
  while (!isOver) {
    for (let index = 0; index < SIEGE_AT_ONCE && pending.size < SIEGE_PENDING_MAX; index += 1) {
      const payment = payments[sent % payments.length] ?? ''
      const address = addresses[sent % addresses.length] ?? ''
      const call = send(url, payment, address).finally(() => pending.delete(call))
      pending.add(call)
      sent += 1
    }
    await wait(SIEGE_PAUSE_MS)
  }
  await Promise.all([working, ...pending])
  return sent
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve))
}

/** Signs in sequence, because signing occupies the processor. */
export async function signedMany(count: number, sign: () => Promise<string>): Promise<string[]> {
  const payments: string[] = []
  while (payments.length < count) payments.push(await sign())
  return payments
}

/** Loopback addresses other than 127.0.0.1. */
function addressesOf(count: number, from: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const at = from + index
    return `127.1.${at >> 8}.${at & 255 || 254}`
  })
}

function send(
  url: string,
  payment: string,
  localAddress: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-payment': payment }
    const agent = new Agent({ maxSockets: 1 })
    const call = request(`${url}/pulse/BTC`, { localAddress, headers, agent }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end()
  })
}

async function main(): Promise<void> {
  for (const open of [openBase, openSolana]) {
    const attacked = await open()
    try {
      const { poorPayment, forgedPayment } = attacked
      const rows = [
        await row(attacked, 'unfunded', 120, 'sequential', poorPayment),
        await row(attacked, 'unfunded', 400, 'concurrent', poorPayment),
      ]
      if (forgedPayment !== null)
        rows.push(await row(attacked, 'forged', 400, 'concurrent', forgedPayment))
      process.stdout.write(`${attacked.name}\n${rows.join('\n')}\n`)
      const { bought, ...measured } = await siege(attacked)
      process.stdout.write(
        `  unfunded, ${SIEGE_ADDRESSES} addresses: ${measured.requests} requests in ` +
          `${measured.lastedSeconds.toFixed(1)} s, at most ${measured.busiestNodeSecond} node calls a second ` +
          'with those of the purchases\n' +
          `  a known buyer: ${measured.idleMs.toFixed(0)} ms idle, ${measured.controlMs.toFixed(0)} ms during as many ` +
          `requests that ask no node, ${measured.attackedMs.toFixed(0)} ms under that attack, ` +
          `${bought} of ${PURCHASES} bought\n`,
      )
    } finally {
      await attacked.close()
    }
  }
}

let used = 0

/** Addresses that were not used before. */
export function freshAddresses(count: number): string[] {
  used += count
  return addressesOf(count, used - count)
}

async function row(
  attacked: Target,
  what: string,
  count: number,
  how: 'concurrent' | 'sequential',
  sign: () => Promise<string>,
): Promise<string> {
  const payments = await signedMany(count, sign)
  const sent = await flood(attacked, payments, how, freshAddresses(1))
  return (
    `  ${what}, one address, ${how}: ${sent.requests} requests, ${sent.nodeCalls} node calls, ` +
    `${sent.callsPerRequest.toFixed(3)} a request beyond the first ten, ${JSON.stringify(sent.statuses)}`
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await main()
  process.exit()
}
