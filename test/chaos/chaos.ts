import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PrivateKeyAccount } from 'viem/accounts'
import { isoInstant } from '../../src/domain/instant.ts'
import { callBounds } from '../../src/payment/facilitators/http-facilitator.ts'
import { newBuyer } from '../../src/payment/testing/buyer.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { exactEvmMechanism } from '../facilitator/exact-evm-mechanism.ts'
import type { FacilitatorFault } from '../facilitator/facilitator-fault.ts'
import type { SimulatedFacilitator } from '../facilitator/simulated-facilitator.ts'
import { startSimulatedFacilitator } from '../facilitator/simulated-facilitator.ts'
import { Chance } from '../simulation/chance.ts'
import type { Violation } from './books.ts'
import { Books } from './books.ts'
import type { PurchaseOptions, Reply, SignedPurchase } from './buyer.ts'
import { buyCarefully, buyHastily, send } from './buyer.ts'
import { ChainReader } from './chain-reader.ts'
import { Faults } from './faults.ts'
import { startFlakyNode } from './flaky-node.ts'
import type { HostDefect } from './host-process.ts'
import { HostProcess } from './host-process.ts'

export type ChaosOptions = {
  readonly seed: number
  /** Number of purchases. */
  readonly purchases: number
  /** Whether the service is killed repeatedly. */
  readonly kills: boolean
  /** Share of authorizations that expire during settlement. */
  readonly shortLived: number
  /** Uptime of the service after which an unfinished payment counts as endless. */
  readonly patienceMs: number
  /** Replaces the drawn faults. */
  readonly everySettlement?: FacilitatorFault
  readonly defect?: HostDefect
  readonly onProgress?: (progress: Progress) => void
}

type Progress = {
  readonly ended: number
  /** Requests of buyers that reached the service. */
  readonly requests: number
  readonly kills: number
}

export type ChaosResult = Progress & {
  readonly seed: number
  readonly payments: number
  readonly charges: number
  readonly refetched: number
  readonly replies: ReadonlyMap<string, number>
  readonly faults: ReadonlyMap<string, number>
  readonly violations: readonly Violation[]
}

const PRICE = 10_000n
const WALLETS = 16
const AT_ONCE = 32
const FACILITATORS = 2
const LIFETIME_SECONDS = 1_800
/** The service requires six seconds for a settlement. */
const SHORT_LIFETIME_SECONDS = 9
/** Pause after the last fault, in which delayed actions complete. */
const CALM_MS = 1_000
/** Replies after which the service is killed, rather than a time in which a busy machine hardly starts it. */
const KILL_AFTER_REPLIES = { min: 1, max: 60 } as const
/** From that reply to the kill, which may so fall into any stage of a sale. */
const KILL_DELAY_MS_MAX = 300
/** Share of the kills that wait until calls of a hanging facilitator have timed out. */
const LATE_KILLS = 0.25
/** Period of the count of replies. */
const COUNT_MS = 20

/** Buyers, failing facilitators and a service that is killed, on one chain that is the authority. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const cleanups: (() => Promise<unknown>)[] = []
  try {
    const chain = await startEvmChain({ clock: systemClock })
    cleanups.push(() => chain.close())
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-chaos-'))
    cleanups.push(() => rm(folder, { recursive: true }))
    const faults = new Faults()
    const facilitators = await startFacilitators(chain, faults, options)
    for (const facilitator of facilitators) cleanups.push(() => facilitator.close())
    const nodeFault = faults.ofNode(new Chance(options.seed, 'node'))
    const isDrawn = options.everySettlement === undefined
    const node = await startFlakyNode(chain.rpcUrl, isDrawn ? nodeFault : () => null)
    cleanups.push(() => node.close())
    const port = await freePort()
    const host = await HostProcess.built(systemClock, {
      port,
      ledgerPath: join(folder, 'ledger.db'),
      payTo: chain.accounts.merchant.address,
      rpcUrl: node.url,
      facilitatorUrls: facilitators.map(({ url }) => url),
      priceUsdcAtomic: PRICE.toString(),
      defect: options.defect ?? null,
    })
    cleanups.push(() => host.close())
    await host.start()
    return await new Run(options, { chain, faults, facilitators, host, port }).toItsEnd()
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

type Stage = {
  readonly chain: EvmChain
  readonly faults: Faults
  readonly facilitators: readonly SimulatedFacilitator[]
  readonly host: HostProcess
  readonly port: number
}

class Run {
  readonly #options: ChaosOptions
  readonly #stage: Stage
  readonly #books = new Books(PRICE)
  readonly #reader: ChainReader
  readonly #signed = new Map<string, SignedPurchase & { readonly id: string }>()
  readonly #replies = new Map<string, number>()
  readonly #stories = new Map<string, string[]>()
  #ended = 0
  #requests = 0
  #kills = 0
  #refetched = 0

  constructor(options: ChaosOptions, stage: Stage) {
    this.#options = options
    this.#stage = stage
    this.#reader = new ChainReader(stage.chain, (charge) => this.#books.taken(charge))
  }

  async toItsEnd(): Promise<ChaosResult> {
    const { seed } = this.#options
    const { chain, faults, host, facilitators } = this.#stage
    const wallets = await fundedWallets(chain, this.#options.purchases)
    let isOver = false
    const disturbances = Promise.all([
      this.#options.kills ? this.#killing(() => isOver) : undefined,
      this.#options.everySettlement === undefined
        ? faults.outages(facilitators, new Chance(seed, 'outages'), {
            clock: systemClock,
            isOver: () => isOver,
          })
        : undefined,
    ])
    await this.#purchases([...wallets.keys()])
    isOver = true
    await disturbances
    faults.end()
    await pause(CALM_MS)
    if (this.#options.kills) await host.kill().then(() => host.start())
    await this.#fetchAgain()
    await this.#close(wallets)
    return {
      seed,
      ...this.#progress(),
      payments: this.#signed.size,
      charges: this.#books.charges,
      refetched: this.#refetched,
      replies: this.#replies,
      faults: faults.counts,
      violations: this.#books.violations,
    }
  }

  async #purchases(wallets: readonly PrivateKeyAccount[]): Promise<void> {
    let next = 0
    const buyer = async () => {
      while (next < this.#options.purchases) {
        const number = next
        next += 1
        const wallet = wallets[number % wallets.length]
        if (wallet === undefined) throw new Error('there is a wallet')
        await this.#purchase(number, wallet)
        this.#ended += 1
        this.#options.onProgress?.(this.#progress())
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, buyer))
  }

  async #purchase(number: number, wallet: PrivateKeyAccount): Promise<void> {
    const { seed, shortLived, patienceMs } = this.#options
    const chance = new Chance(seed, `buyer ${number}`)
    const id = String(number)
    const isCareful = chance.is(0.4)
    const options: PurchaseOptions = {
      id,
      url: this.#url,
      wallet,
      payTo: this.#stage.chain.accounts.merchant.address,
      priceUsdcAtomic: PRICE,
      lifetimeSeconds: chance.is(shortLived) ? SHORT_LIFETIME_SECONDS : LIFETIME_SECONDS,
      patienceMs,
      clock: systemClock,
      servedMs: () => this.#stage.host.servedMs,
      chance,
      onSigned: (nonce) => this.#books.signed({ nonce, payer: wallet.address, purchase: id }),
      onReply: (nonce, reply) => this.#note(nonce, reply),
      onEndless: (nonce) => this.#books.endless(nonce, this.#storyOf(nonce)),
    }
    const signed = await (isCareful ? buyCarefully : buyHastily)(options)
    for (const payment of signed) this.#signed.set(payment.nonce, { ...payment, id })
  }

  /** Compares each answer with the chain at its arrival. */
  async #note(nonce: string, reply: Reply): Promise<void> {
    const story = this.#stories.get(nonce) ?? []
    this.#stories.set(nonce, story)
    story.push(
      `${isoInstant(systemClock.nowMs())} ${reply.kind === 'given' ? '200' : wordsOf(reply.detail)}`,
    )
    if (reply.kind === 'down') return
    this.#requests += 1
    const kind = reply.kind === 'given' ? '200' : wordsOf(reply.detail)
    this.#replies.set(kind, (this.#replies.get(kind) ?? 0) + 1)
    if (reply.kind !== 'given') return
    await this.#reader.catchUp()
    this.#books.given(nonce, reply.answer)
  }

  /** First and last replies to a buyer. */
  #storyOf(nonce: string): string {
    const story = this.#stories.get(nonce) ?? []
    const shown = [...story.slice(0, 10), ...story.slice(10).slice(-15)]
    return [`${story.length} replies`, ...shown].join('\n      ')
  }

  async #killing(isOver: () => boolean): Promise<void> {
    const { host } = this.#stage
    const chance = new Chance(this.#options.seed, 'kills')
    while (!isOver()) {
      const { min, max } = KILL_AFTER_REPLIES
      const requests = this.#requests + chance.integer(min, max)
      while (this.#requests < requests && !isOver()) await pause(COUNT_MS)
      if (isOver()) return
      const timeoutMs = chance.is(LATE_KILLS) ? callBounds.settleMsMax : 0
      await pause(timeoutMs + chance.between(0, KILL_DELAY_MS_MAX))
      await host.kill()
      this.#kills += 1
      await host.start()
    }
  }

  /** Without further faults every charged payment must get its answer. */
  async #fetchAgain(): Promise<void> {
    await this.#reader.catchUp()
    const onReply = (nonce: string, reply: Reply) => this.#note(nonce, reply)
    for (const nonce of this.#books.charged()) {
      const payment = this.#signed.get(nonce)
      if (payment === undefined) continue
      const reply = await send({ url: this.#url, id: payment.id, onReply }, payment, 15_000)
      if (reply.kind === 'given') this.#refetched += 1
      else this.#books.withheld(nonce, this.#storyOf(nonce))
    }
  }

  async #close(wallets: ReadonlyMap<PrivateKeyAccount, bigint>): Promise<void> {
    const { chain } = this.#stage
    await this.#reader.catchUp()
    const spent = new Map<string, bigint>()
    for (const [{ address }, funds] of wallets)
      spent.set(address, funds - (await chain.balanceOf(address)))
    this.#books.closed(spent, await chain.balanceOf(chain.accounts.merchant.address))
  }

  #progress(): Progress {
    return { ended: this.#ended, requests: this.#requests, kills: this.#kills }
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#stage.port}`
  }
}

function startFacilitators(
  chain: EvmChain,
  faults: Faults,
  { seed, everySettlement }: ChaosOptions,
): Promise<SimulatedFacilitator[]> {
  // One queue per key: users of an account must not take the same nonce.
  const mechanism = exactEvmMechanism(chain.rpcUrl, chain.accounts.facilitator.privateKey)
  return Promise.all(
    Array.from({ length: FACILITATORS }, (_, at) => {
      const drawn = faults.ofFacilitator(new Chance(seed, `facilitator ${at}`))
      return startSimulatedFacilitator({
        mechanism,
        clock: systemClock,
        faultOf:
          everySettlement === undefined
            ? drawn
            : ({ operation }) => (operation === 'settle' ? everySettlement : null),
      })
    }),
  )
}

/** Wallets and balances; each suffices for all of its purchases, even if paid repeatedly. */
async function fundedWallets(
  chain: EvmChain,
  purchases: number,
): Promise<ReadonlyMap<PrivateKeyAccount, bigint>> {
  const funds = BigInt(purchases) * 10n * PRICE
  const wallets = new Map<PrivateKeyAccount, bigint>()
  for (let at = 0; at < Math.min(WALLETS, purchases); at += 1) {
    const wallet = newBuyer()
    await chain.fundUsdc(wallet.address, funds)
    wallets.set(wallet, funds)
  }
  return wallets
}

/** Status and code of a problem, or the error. */
function wordsOf(detail: string): string {
  const code = /"code":"(\w+)"/.exec(detail)?.[1]
  const reason = /"reason":"(\w+)"/.exec(detail)?.[1]
  const [first = ''] = detail.split(' ')
  return [first, code ?? reason ?? ''].join(' ').trim()
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
