/**
 * Two measurements on bought answers. Does a stranger who reads a payment from the chain and presents it get any byte,
 * or learn what was bought? Does a buyer whose connection breaks at any moment get the answer by repeating the
 * identical request? `npx tsx test/attacks/chain-observer.ts --count 1000`
 */
import { fileURLToPath } from 'node:url'
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { wrapAxiosWithPayment, x402Client as X402AxiosClient } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/client'
import axios from 'axios'
import Table from 'cli-table3'
import { Agent, fetch as fetchFrom } from 'undici'
import type { Hex } from 'viem'
import { createPublicClient, decodeFunctionData, http, parseAbi } from 'viem'
import { PerpscopeClient } from '../../src/client/client.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { encodedPayment } from '../../src/payment/testing/buyer.ts'
import type { PaidHost } from '../../src/payment/testing/paid-host.ts'
import { PRICE } from '../../src/payment/testing/paid-host.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { SolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { Chance } from '../simulation/chance.ts'
import type { Ground } from '../support/attacked.ts'
import { startGround } from '../support/attacked.ts'
import { legacyFetch } from '../support/legacy-buyer.ts'
import { solanaRig } from '../support/solana-rig.ts'
import { measureRecovery } from './recovery.ts'

export type ObserverOptions = {
  /** Number of rebuilt payments, and of broken connections. */
  readonly count: number
  readonly seed: number
  readonly onProgress?: (what: string, done: number) => void
}

/** Reply to one guess of a stranger. */
type Guess = {
  /** The buyer's client. */
  readonly client: string
  readonly isRight: boolean
  readonly status: number
  readonly bytes: number
  readonly ms: number
  readonly isSold: boolean
}

type BrokenCall = {
  readonly client: string
  /** Whether the first connection broke before its answer was read. */
  readonly wasBroken: boolean
  readonly isAnswered: boolean
  readonly atomsPaid: bigint
}

export type ObserverResult = {
  readonly guesses: readonly Guess[]
  readonly calls: readonly BrokenCall[]
  readonly renders: number
  /** Median duration of purchases: alone (see `measureRecovery`), and while a stranger guesses as fast as possible. */
  readonly idleMs: number
  readonly guessedMs: number
  readonly guessesBeside: number
  /** Whether purchases are fast again after the guesses. */
  readonly recovered: boolean
}

type Speak = typeof fetch
/** A new wallet of a public client. */
type Wallet = {
  buy(url: string, speak: Speak): Promise<Response>
  spent(): Promise<bigint>
}
type Client = {
  readonly name: string
  readonly network: 'evm' | 'solana'
  readonly wallet: () => Promise<Wallet>
}

/** All of the same length, so that only the guess differs. */
const COINS = ['BTC', 'ETH', 'SOL', 'XRP', 'BNB', 'SUI', 'APT', 'ARB'] as const
const AT_ONCE = 4
/** Longer than a purchase. */
const BREAK_MS_MAX = 250
const GUESS_MS_MAX = 1_500
const TRIES_MAX = 40
const SALES = 15
const GUESSERS = 8
const TRY_AGAIN_MS = 100
/** Generous, because other tests run at the same time. */
export const NOISE_MS = 500

/** A local address other than the buyers'. */
const stranger = new Agent({ localAddress: '127.0.0.2' })
const transferAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

export async function observeChain(options: ObserverOptions): Promise<ObserverResult> {
  const [ground, solana] = await Promise.all([
    startGround(),
    startSolanaChain({ clock: systemClock }),
  ])
  try {
    const rig = solanaRig(solana)
    const payTo = ground.chain.accounts.merchant.address
    const host = await ground.host({
      clock: systemClock,
      methods: [
        exactEvm({ network: base, payTo, facilitator: ground.facilitator }),
        rig.method(rig.facilitator()),
      ],
      limits: {
        repeatedPaymentsPerAddressPerMinute: 1e6,
        failedPaymentsPerAddressPerMinute: 1e6,
      },
    })
    const clients = publicClients(ground, solana)
    const guesses = await rebuilt(options, host, { ground, solana, clients })
    const runsBefore = host.runs()
    const calls = await broken(options, host, clients)
    const renders = host.runs() - runsBefore
    return { guesses, calls, renders, ...(await besieged(ground, clients)) }
  } finally {
    await ground.close()
    await solana.close()
  }
}

/** Buys, reads the payment from the chain at a random moment, and presents it for the bought call and another one. */
async function rebuilt(
  { count, seed, onProgress }: ObserverOptions,
  host: PaidHost,
  { ground, solana, clients }: { ground: Ground; solana: SolanaChain; clients: readonly Client[] },
): Promise<readonly Guess[]> {
  const guesses: Guess[] = []
  await inLanes(count, async (index) => {
    const chance = new Chance(seed, `guess ${index}`)
    const client = clients[index % clients.length] as Client
    const coin = chance.pick(COINS)
    const bought = await purchase(client, `${host.url}/pulse/${coin}`)
    const receipt = bought.headers.get('payment-response') ?? ''
    const { transaction } = JSON.parse(Buffer.from(receipt, 'base64').toString())
    const payload =
      client.network === 'evm'
        ? await rebuiltOnBase(ground, transaction)
        : await rebuiltOnSolana(solana, transaction)
    await pause(chance.between(0, GUESS_MS_MAX))
    const others = COINS.filter((other) => other !== coin)
    const tries = [coin, chance.pick(others)]
    if (chance.is(0.5)) tries.reverse()
    const header = chance.is(0.5) ? 'x-payment' : 'payment-signature'
    for (const guess of tries) {
      const payment = encodedPayment(
        header === 'x-payment' ? payload.legacy : { ...payload.modern, extensions: {} },
      )
      const beganMs = performance.now()
      const response = await fetchFrom(`${host.url}/pulse/${guess}`, {
        headers: { [header]: payment },
        dispatcher: stranger,
      })
      const text = await response.text()
      guesses.push({
        client: client.name,
        isRight: guess === coin,
        status: response.status,
        bytes: text.length,
        ms: performance.now() - beganMs,
        isSold: text.includes('"run"'),
      })
    }
    onProgress?.('rebuilt', index + 1)
  })
  return guesses
}

/** If a busy machine exceeds the time limit of a node, another wallet buys. */
async function purchase({ name, wallet }: Client, url: string): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const { buy } = await wallet()
    const response = await buy(url, fetch)
    if (response.status === 200) return response
    if (tries === TRIES_MAX)
      throw new Error(`${name} got ${response.status}: ${await response.text()}`)
  }
}

/** Buys over a connection that breaks at a random moment, and repeats the identical request until it is answered. */
async function broken(
  { count, seed, onProgress }: ObserverOptions,
  host: PaidHost,
  clients: readonly Client[],
): Promise<readonly BrokenCall[]> {
  const calls: BrokenCall[] = []
  await inLanes(count, async (index) => {
    const chance = new Chance(seed, `break ${index}`)
    const { name, wallet } = clients[index % clients.length] as Client
    const { buy, spent } = await wallet()
    let wasBroken = false
    const speak: Speak = async (input, init) => {
      const request = new Request(input, init)
      const pays = request.headers.has('x-payment') || request.headers.has('payment-signature')
      const again = () => fetch(request.clone())
      if (!pays) return again()
      try {
        return await read(
          await fetch(request.clone(), {
            signal: AbortSignal.timeout(Math.ceil(chance.between(1, BREAK_MS_MAX))),
          }),
        )
      } catch {
        wasBroken = true
      }
      for (let tries = 1; ; tries += 1) {
        const response = await read(await again())
        if (response.status === 200 || tries === TRIES_MAX) return response
        await pause(TRY_AGAIN_MS)
      }
    }
    const response = await buy(`${host.url}/pulse/${chance.pick(COINS)}`, speak)
    const text = await response.text()
    calls.push({
      client: name,
      wasBroken,
      isAnswered: response.status === 200 && text.includes('"run"'),
      atomsPaid: await spent(),
    })
    onProgress?.('broken', index + 1)
  })
  return calls
}

/** An honest buyer while another caller presents a foreign payment repeatedly, within the limits of a service. */
async function besieged(ground: Ground, [client]: readonly Client[]) {
  if (client === undefined) throw new TypeError('there is a client')
  const host = await ground.host({
    clock: systemClock,
    limits: { repeatedPaymentsPerAddressPerMinute: 60 },
  })
  const url = `${host.url}/pulse/BTC`
  const medianMs = async () => {
    const tookMs: number[] = []
    for (let sale = 0; sale < SALES; sale += 1) {
      const { buy } = await client.wallet()
      const beganMs = performance.now()
      const { status } = await read(await buy(url, fetch))
      tookMs.push(status === 200 ? performance.now() - beganMs : Number.POSITIVE_INFINITY)
    }
    return median(tookMs)
  }
  const victim = await purchase(client, url)
  const receipt = victim.headers.get('payment-response') ?? ''
  const { transaction } = JSON.parse(Buffer.from(receipt, 'base64').toString())
  const { legacy } = await rebuiltOnBase(ground, transaction)
  const headers = { 'x-payment': encodedPayment(legacy) }
  const beforeMs = await medianMs()
  let isOver = false
  let guessesBeside = 0
  const guesser = async () => {
    while (!isOver) {
      await (await fetchFrom(url, { headers, dispatcher: stranger })).text()
      guessesBeside += 1
    }
  }
  const guessers = Array.from({ length: GUESSERS }, guesser)
  const guessedMs = await medianMs()
  isOver = true
  await Promise.all(guessers)
  const { control, recovered } = await measureRecovery(beforeMs, medianMs, NOISE_MS)
  return { idleMs: control, guessedMs, guessesBeside, recovered }
}

/** Reads the body as well, because a connection may break before its end. */
async function read(response: Response): Promise<Response> {
  const { status, headers } = response
  return new Response(await response.arrayBuffer(), { status, headers })
}

async function rebuiltOnBase({ chain }: Ground, hash: Hex) {
  const node = createPublicClient({ transport: http(chain.rpcUrl) })
  const { input } = await node.getTransaction({ hash })
  const authorizations = authorizationsIn(input)
  const [first] = authorizations
  if (first === undefined) throw new Error('no authorization in the transaction')
  return envelopes(first, { network: base.network, legacy: 'base', asset: base.asset })
}

/** The only authorization of a transaction, or the first of a batch. */
function authorizationsIn(input: Hex) {
  const selector = 'e3ee160e'
  const at = input.indexOf(selector)
  if (at === -1) return []
  const { args } = decodeFunctionData({ abi: transferAbi, data: `0x${input.slice(at)}` })
  const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args
  return [
    {
      signature: `${r}${s.slice(2)}${v.toString(16)}`,
      authorization: {
        from,
        to,
        value: value.toString(),
        validAfter: validAfter.toString(),
        validBefore: validBefore.toString(),
        nonce,
      },
    },
  ]
}

async function rebuiltOnSolana({ rpcUrl, usdc }: SolanaChain, signature: string) {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'getTransaction',
      params: [
        signature,
        { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 },
      ],
    }),
  })
  const { result } = (await response.json()) as { result: { transaction: [string, string] } }
  const network = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
  return envelopes(
    { transaction: result.transaction[0] },
    { network, legacy: 'solana', asset: usdc },
  )
}

function envelopes(
  payload: object,
  { network, legacy, asset }: { network: string; legacy: string; asset: string },
) {
  const accepted = {
    scheme: 'exact',
    network,
    asset,
    amount: PRICE.toString(),
    payTo: '',
    extra: {},
  }
  return {
    legacy: { x402Version: 1, scheme: 'exact', network: legacy, payload },
    modern: { x402Version: 2, accepted: { ...accepted, maxTimeoutSeconds: 120 }, payload },
  }
}

function publicClients(ground: Ground, solana: SolanaChain): readonly Client[] {
  let funding: Promise<unknown> = Promise.resolve()
  const onBase = (
    name: string,
    buy: (
      buyer: Awaited<ReturnType<Ground['fundedBuyer']>>,
      url: string,
      speak: Speak,
    ) => Promise<Response>,
  ): Client => ({
    name,
    network: 'evm',
    wallet: async () => {
      // In sequence, because the minting account has one nonce sequence.
      const funded = funding.then(() => ground.fundedBuyer())
      funding = funded.catch(() => undefined)
      const buyer = await funded
      return {
        buy: (url, speak) => buy(buyer, url, speak),
        spent: () => ground.spent(buyer),
      }
    },
  })
  const onSolana = (name: string, spoken: (speak: Speak) => Speak): Client => ({
    name,
    network: 'solana',
    wallet: async () => {
      const seed = crypto.getRandomValues(new Uint8Array(32))
      const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
      const funds = 1_000_000n
      solana.fundUsdc(signer.address, funds)
      const config = { rpcUrl: solana.rpcUrl }
      const client = new x402Client()
        .register('solana:*', new ExactSvmScheme(signer, config))
        .registerV1('solana', new ExactSvmSchemeV1(signer, config))
      return {
        buy: (url, speak) => wrapFetchWithPayment(spoken(speak), client)(url),
        spent: async () => funds - solana.balanceOf(signer.address),
      }
    },
  })
  const axiosClient = (buyer: Awaited<ReturnType<Ground['fundedBuyer']>>) =>
    new X402AxiosClient()
      .register('eip155:8453', new ExactEvmScheme(buyer))
      .registerV1('base', new ExactEvmSchemeV1(buyer))
  const byAxios =
    (spoken: (speak: Speak) => Speak) =>
    async (buyer: Awaited<ReturnType<Ground['fundedBuyer']>>, url: string, speak: Speak) => {
      const instance = axios.create({ adapter: 'fetch', env: { fetch: spoken(speak) } })
      const { status, data, headers } = await wrapAxiosWithPayment(
        instance,
        axiosClient(buyer),
      ).get(url)
      const echoed = { 'payment-response': String(headers['payment-response']) }
      return new Response(JSON.stringify(data), { status, headers: echoed })
    }
  return [
    onBase('@x402/fetch, version 2', (buyer, url, speak) =>
      wrapFetchWithPayment(speak, registerExactEvmScheme(new x402Client(), { signer: buyer }))(url),
    ),
    onSolana('@x402/svm, version 2', (speak) => speak),
    onBase('@x402/fetch, version 1', (buyer, url, speak) =>
      wrapFetchWithPayment(
        withoutVersion2(speak),
        registerExactEvmScheme(new x402Client(), { signer: buyer }),
      )(url),
    ),
    onSolana('@x402/svm, version 1', withoutVersion2),
    onBase('x402-fetch 1.2.0', (buyer, url, speak) =>
      legacyFetch(buyer, systemClock.nowMs, speak)(url),
    ),
    onBase(
      '@x402/axios, version 2',
      byAxios((speak) => speak),
    ),
    onBase('@x402/axios, version 1', byAxios(withoutVersion2)),
    onBase('perpscope/client', async (buyer, url, speak) => {
      const { origin, pathname } = new URL(url)
      const wallet = new x402Client().register('eip155:8453', new ExactEvmScheme(buyer))
      const client = new PerpscopeClient({
        url: origin,
        pay: (quote) => wallet.createPaymentPayload(quote),
        fetch: speak,
      })
      const { answer, receipt } = await client.about('pulse', pathname.split('/').at(-1) ?? '')
      const echoed = Buffer.from(JSON.stringify(receipt)).toString('base64')
      return new Response(JSON.stringify(answer), { headers: { 'payment-response': echoed } })
    }),
  ]
}

/** Without the version 2 header a client falls back to the version 1 body. */
function withoutVersion2(speak: Speak): Speak {
  return async (input, init) => {
    const response = await speak(input, init)
    const headers = new Headers(response.headers)
    headers.delete('payment-required')
    return new Response(response.body, { status: response.status, headers })
  }
}

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

const pause = (ms: number) => new Promise<void>((resolve) => systemClock.after(ms, resolve))

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const argument = (name: string, byDefault: number) => {
    const at = process.argv.indexOf(name)
    return at === -1 ? byDefault : Number(process.argv[at + 1])
  }
  const count = argument('--count', 1_000)
  const { guesses, calls, renders, idleMs, guessedMs, guessesBeside } = await observeChain({
    count,
    seed: argument('--seed', 1),
    onProgress: (what, done) => void process.stderr.write(`\r${what}: ${done} of ${count}  `),
  })
  const guessed = new Table({ head: ['guess', 'sent', 'sold', 'status', 'bytes', 'median ms'] })
  for (const isRight of [true, false]) {
    const some = guesses.filter((guess) => guess.isRight === isRight)
    guessed.push([
      isRight ? 'what was bought' : 'another call',
      some.length,
      some.filter(({ isSold }) => isSold).length,
      [...new Set(some.map(({ status }) => status))].join(' '),
      [...new Set(some.map(({ bytes }) => bytes))].join(' '),
      median(some.map(({ ms }) => ms)).toFixed(2),
    ])
  }
  const repeated = new Table({ head: ['client', 'calls', 'broken', 'answered', 'paid once'] })
  for (const client of new Set(calls.map((call) => call.client))) {
    const some = calls.filter((call) => call.client === client)
    repeated.push([
      client,
      some.length,
      some.filter(({ wasBroken }) => wasBroken).length,
      some.filter(({ isAnswered }) => isAnswered).length,
      some.filter(({ atomsPaid }) => atomsPaid === PRICE).length,
    ])
  }
  process.stdout.write(
    `\n${guessed}\n${repeated}\n${renders} renders for ${calls.length} purchases\n` +
      `an honest buyer: ${idleMs.toFixed(0)} ms idle, ${guessedMs.toFixed(0)} ms during ${guessesBeside} guesses\n`,
  )
  await stranger.close()
}
