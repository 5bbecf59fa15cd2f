import { pathToFileURL } from 'node:url'
import type { Address, Hex } from 'viem'
import {
  concat,
  createTestClient,
  http,
  numberToHex,
  pad,
  publicActions,
  size,
  walletActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import type { FailedGas } from '../../src/payment/evm/contract-payers.ts'
import { ContractWallets } from '../../src/payment/evm/contract-wallets.ts'
import { exactEvm } from '../../src/payment/evm/exact-evm.ts'
import { localFacilitator } from '../../src/payment/evm/local-facilitator.ts'
import { base } from '../../src/payment/evm/networks.ts'
import { nodeClient } from '../../src/payment/evm/node-client.ts'
import { SqliteLedger } from '../../src/payment/ledger/sqlite-ledger.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import type { PaidHost } from '../../src/payment/testing/paid-host.ts'
import { PRICE, startPaidHost } from '../../src/payment/testing/paid-host.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { minedReceipt } from '../support/mined-receipt.ts'
import { promptClock } from '../support/prompt-clock.ts'
import { putUsdc } from '../support/usdc-balance.ts'
import artefact from './hostile-wallet.json' with { type: 'json' }
import { measureRecovery } from './recovery.ts'

/**
 * Strangers who try to empty the account that pays the gas: `node_modules/.bin/tsx test/attacks/gas.ts` prints
 * the costs of attackers and service.
 */

/** How a hostile wallet detects a simulation. */
export type Trick = 'gas price' | 'block number' | 'coinbase' | 'gas left'
const tricks: readonly Trick[] = ['gas price', 'block number', 'coinbase', 'gas left']

export type GasAttack = {
  readonly name: string
  readonly requests: number
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Money that the attackers spent, in millionths of a USDC. */
  readonly atomsSpent: bigint
  /** Gas that the attackers used to prepare the attack. */
  readonly attackerGas: bigint
  /** Gas of our transactions that transferred nothing. */
  readonly gasBurnt: bigint
  readonly gasPerHourMax: bigint
  /** Blocks that the median purchase of an honest buyer took; idle: see `measureRecovery`. */
  readonly honest: {
    readonly idleBlocks: number
    readonly duringBlocks: number
    readonly bought: number
    readonly recovered: boolean
  }
}

export const FUNDS = 1_000_000n
/** As many as an attack lasts: later ones would show nothing of it. */
const PURCHASES = 3
/** Gas of a contract's creation: https://eips.ethereum.org/EIPS/eip-2028 and the yellow paper, appendix G. */
const CREATION_GAS = 53_000n
const BYTE_GAS = 216n

export type GasGround = Awaited<ReturnType<typeof startGasGround>>

/** A chain, hostile wallets on it, and a host that pays its own gas. */
export async function startGasGround() {
  const chain = await startEvmChain({ clock: systemClock })
  const client = createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
  })
    .extend(publicActions)
    .extend(walletActions)
  const code = artefact.hostileWallet as Hex
  const { merchant, facilitator: gasPayer } = chain.accounts
  const payTo = merchant.address
  let wallets = 0

  const funded = async (buyer = newBuyer(), funds = FUNDS): Promise<PrivateKeyAccount> => {
    await putUsdc(chain, buyer.address, funds)
    return buyer
  }
  const arm = async (address: Address, trick: Trick, bound: bigint) => {
    const slots = [BigInt(tricks.indexOf(trick)), bound]
    for (const [index, value] of slots.entries())
      await client.setStorageAt({ address, index, value: pad(numberToHex(value)) })
  }
  /** @param isClone whether it shares its code with all others, like a proxy */
  const hostileWallet = async (trick: Trick = 'gas price', bound = 0n, isClone = false) => {
    const owner = newBuyer()
    const wallet = newBuyer().address
    wallets += 1
    const own = isClone ? code : concat([code, pad(numberToHex(wallets), { size: 4 })])
    await client.setCode({ address: wallet, bytecode: own })
    await arm(wallet, trick, bound)
    await putUsdc(chain, wallet, FUNDS)
    return { ...owner, address: wallet }
  }
  /** An externally owned account that delegates to hostile code (EIP-7702). */
  const delegate = async (account: PrivateKeyAccount, isClone = false, priorityFee?: bigint) => {
    const to = newBuyer().address
    wallets += 1
    const own = isClone ? code : concat([code, pad(numberToHex(wallets), { size: 4 })])
    await client.setCode({ address: to, bytecode: own })
    const authorization = await account.signAuthorization({
      address: to,
      chainId: chain.chainId,
      nonce: 0,
    })
    const sponsor = newBuyer()
    await client.setBalance({ address: sponsor.address, value: 10n ** 18n })
    return client.sendTransaction({
      account: sponsor,
      to: sponsor.address,
      gas: 100_000n,
      authorizationList: [authorization],
      ...(priorityFee === undefined
        ? {}
        : { maxPriorityFeePerGas: priorityFee, maxFeePerGas: 2n * priorityFee + 10_000_000_000n }),
    })
  }
  /** @param suffix makes a signature that only contracts accept, whose transfer may use more gas */
  const paymentOf = async (buyer: PrivateKeyAccount, suffix = '', validSeconds = 120) => {
    const nowMs = systemClock.nowMs()
    const validBeforeSeconds = BigInt(Math.floor(nowMs / 1_000) + validSeconds)
    const payment = await signedPayload(buyer, { amount: PRICE, payTo, nowMs, validBeforeSeconds })
    payment.payload.signature += suffix as ''
    return encodedPayment(payment)
  }

  return {
    chain,
    client,
    code,
    payTo,
    funded,
    arm,
    hostileWallet,
    delegate,
    paymentOf,
    /** Gas burnt by our transactions since a block. */
    async burntSince(block: bigint): Promise<bigint> {
      let burnt = 0n
      const head = await client.getBlockNumber({ cacheTime: 0 })
      for (let blockNumber = block + 1n; blockNumber <= head; blockNumber += 1n) {
        const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true })
        for (const { hash, from } of transactions) {
          if (from.toLowerCase() !== gasPayer.address.toLowerCase()) continue
          const receipt = await client.getTransactionReceipt({ hash })
          if (receipt.logs.length === 0) burnt += receipt.gasUsed
        }
      }
      return burnt
    },
    async hosted(options: HostOptions = {}) {
      const events: FailedGas[] = []
      const { ledgerPath = ':memory:', contractWallets = 'on', contractGasPerHour } = options
      const ledger = new SqliteLedger(ledgerPath)
      const facilitator = localFacilitator({
        network: base,
        rpcUrl: chain.rpcUrl,
        privateKey: gasPayer.privateKey,
        clock: promptClock,
        failures: ledger.failures,
        contractWallets,
        ...(contractGasPerHour === undefined ? {} : { contractGasPerHour }),
        onFailedGas: (event) => events.push(event),
      })
      const method = exactEvm({
        network: base,
        payTo,
        facilitator,
        payers: facilitator.payers,
        contractWallets: new ContractWallets(nodeClient(base, chain.rpcUrl)),
      })
      const host = await startPaidHost({
        payTo,
        facilitator,
        clock: systemClock,
        methods: [method],
        ledger,
        ...(options.atWork === undefined ? {} : { atWork: options.atWork }),
      })
      return { host, method, facilitator, events, close: host.close }
    },
    close: () => chain.close(),
  }
}

type HostOptions = {
  readonly ledgerPath?: string
  readonly contractWallets?: 'on' | 'off'
  readonly contractGasPerHour?: bigint
  readonly atWork?: () => Promise<void>
}

export async function buy(
  host: PaidHost,
  payment: string,
  path = '/pulse/BTC',
  header = 'x-payment',
) {
  const response = await fetch(host.url + path, { headers: { [header]: payment } })
  const { status, headers } = response
  const body = (await response.json()) as {
    readonly code?: string
    readonly accepts?: readonly { readonly extra: Readonly<Record<string, unknown>> }[]
    readonly diagnostics?: { readonly reason: string; readonly hint: string }
  }
  return { status, headers, body, reason: body.diagnostics?.reason ?? body.code ?? null }
}

/** Gas that failures may burn while the attacks last. */
const GAS_PER_HOUR_MAX = 3_000_000n

/**
 * Runs `task` on a chain with a block a second, with an honest buyer. A purchase mostly waits for its block, so it is
 * measured in blocks: a delay of less than a block does not count.
 */
async function withHonestBuyer<Result>(
  ground: GasGround,
  task: (at: { readonly host: PaidHost; medianBlocks(): Promise<number> }) => Promise<Result>,
): Promise<Result> {
  const { client } = ground
  const { host, close } = await ground.hosted({ contractGasPerHour: GAS_PER_HOUR_MAX })
  const honest = await ground.funded()
  const head = () => client.getBlockNumber({ cacheTime: 0 })
  const purchase = async () => {
    const before = await head()
    const { status } = await buy(host, await ground.paymentOf(honest))
    if (status !== 200) throw new Error(`an honest buyer got ${status}`)
    return Number((await head()) - before)
  }
  const medianBlocks = async () => {
    const took: number[] = []
    for (let index = 0; index < PURCHASES; index += 1) took.push(await purchase())
    return median(took)
  }
  try {
    await client.setAutomine(false)
    await client.setIntervalMining({ interval: 1 })
    return await task({ host, medianBlocks })
  } finally {
    await client.setIntervalMining({ interval: 0 })
    await client.setAutomine(true)
    await client.mine({ blocks: 1 })
    await close()
  }
}

/** Attackers send concurrently and repeatedly while a buyer with a key continues to buy. */
function attack(
  ground: GasGround,
  idleBlocks: number,
  name: string,
  wallets: readonly PrivateKeyAccount[],
  requestsEach: number,
): Promise<GasAttack> {
  const { chain, client } = ground
  return withHonestBuyer(ground, async ({ host, medianBlocks }) => {
    const before = await client.getBlockNumber({ cacheTime: 0 })
    const during = medianBlocks()
    const statuses: Record<number, number> = {}
    for (let round = 0; round < requestsEach; round += 1) {
      const answers = await Promise.all(
        wallets.map(async (wallet) => buy(host, await ground.paymentOf(wallet, 'ab'))),
      )
      for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
    }
    const duringBlocks = await during
    const left = await Promise.all(wallets.map(({ address }) => chain.balanceOf(address)))
    const gasBurnt = await ground.burntSince(before)
    const { control, recovered } = await measureRecovery(idleBlocks, medianBlocks)
    return {
      name,
      requests: wallets.length * requestsEach,
      statuses,
      atomsSpent: left.reduce((sum, balance) => sum + FUNDS - balance, 0n),
      attackerGas: BigInt(wallets.length) * (CREATION_GAS + BYTE_GAS * BigInt(size(ground.code))),
      gasBurnt,
      gasPerHourMax: GAS_PER_HOUR_MAX,
      honest: { idleBlocks: control, duringBlocks, bought: PURCHASES, recovered },
    }
  })
}

/** All attacks by contracts. */
export async function attacks(ground: GasGround): Promise<readonly GasAttack[]> {
  const many = async (count: number, wallet: () => Promise<PrivateKeyAccount>) => {
    const wallets: PrivateKeyAccount[] = []
    for (let index = 0; index < count; index += 1) wallets.push(await wallet())
    return wallets
  }
  const delegated = async () => {
    const account = await ground.funded()
    await minedReceipt(ground.client, await ground.delegate(account))
    return account
  }
  const idle = await withHonestBuyer(ground, ({ medianBlocks }) => medianBlocks())
  const { hostileWallet } = ground
  const clone = () => hostileWallet('gas price', 0n, true)
  return [
    await attack(ground, idle, '3 wallets, 18 requests each', await many(3, hostileWallet), 18),
    await attack(ground, idle, '14 clones of one wallet', await many(14, clone), 3),
    await attack(
      ground,
      idle,
      '14 wallets, each of its own code',
      await many(14, hostileWallet),
      3,
    ),
    await attack(
      ground,
      idle,
      '14 accounts that delegate (EIP-7702)',
      await many(14, delegated),
      3,
    ),
  ]
}

export function reportOf(attack: GasAttack): string {
  const { name, requests, statuses, atomsSpent, attackerGas, gasBurnt, gasPerHourMax } = attack
  const { idleBlocks, duringBlocks, bought } = attack.honest
  const answers = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  return (
    `${name}: ${requests} requests (${answers.join(', ')}); attackers: ${atomsSpent} atoms, ` +
    `${attackerGas} gas; we: ${gasBurnt} gas of ${gasPerHourMax} an hour; an honest buyer: ${bought} answers, ` +
    `median ${duringBlocks} blocks, idle ${idleBlocks}`
  )
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const ground = await startGasGround()
  try {
    for (const result of await attacks(ground)) process.stdout.write(`${reportOf(result)}\n`)
  } finally {
    await ground.close()
  }
}
