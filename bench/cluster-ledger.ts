import type { Hex } from 'viem'
import { createPublicClient, http, parseAbi } from 'viem'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { PRICE } from '../test/support/killed-sales.ts'
import { until } from '../test/support/service.ts'
import type { Reply, Seller } from './cluster-buyers.ts'
import { answerOf, buy, inParallel, received, refusedBy, wait } from './cluster-buyers.ts'
import type { ClusterLine } from './cluster-line.ts'
import { counted, quantile, seconds } from './cluster-line.ts'
import type { SellingCluster } from './cluster-selling.ts'

const BUYERS = 16
const WALLET_ATOMIC = 10_000n * PRICE
/** Every refused payment is sent again, in turns. */
const VALID_SECONDS = 3_600n
/** Sales before the ledger goes. */
const BEFORE_MS = 2_000
const PAUSE_AFTER_REFUSAL_MS = 100

const tokenAbi = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
])

type Call = {
  readonly gateway: Seller
  readonly payment: string
  readonly beganMs: number
  readonly endedMs: number
  readonly reply: Reply
}

/** PostgreSQL is away while buyers go on buying; afterwards every refused payment is sent again. */
export async function ledgerAway(
  { chain, postgres, one, other }: SellingCluster,
  awayMs: number,
): Promise<ClusterLine> {
  const before = await received(chain)
  const payTo = chain.accounts.merchant.address
  const wallets = Array.from({ length: BUYERS }, () => newBuyer())
  for (const { address } of wallets) await chain.fundUsdc(address, WALLET_ATOMIC)
  const calls: Call[] = []
  let isOver = false
  const buyers = wallets.map(async (wallet, buyer) => {
    const gateway = buyer % 2 === 0 ? one : other
    while (!isOver) {
      const nowMs = systemClock.nowMs()
      const validBeforeSeconds = BigInt(Math.floor(nowMs / 1_000)) + VALID_SECONDS
      const choices = { amount: PRICE, payTo, nowMs, validBeforeSeconds }
      const payment = encodedPayment(await signedPayload(wallet, choices))
      const beganMs = performance.now()
      const reply = await buy(gateway, payment)
      calls.push({ gateway, payment, beganMs, endedMs: performance.now(), reply })
      if (reply.status !== 200) await wait(PAUSE_AFTER_REFUSAL_MS)
    }
  })
  await wait(BEFORE_MS)
  await postgres.crash()
  const goneMs = performance.now()
  await wait(awayMs)
  const charged = await chargedAmong(
    chain,
    calls.filter((call) => call.beganMs > goneMs && isRefused(call)),
  )
  const returningMs = performance.now()
  await postgres.start()
  const backMs = performance.now()
  const soldAgain = () =>
    [one, other].map((gateway) =>
      calls.find(
        (call) => call.gateway === gateway && call.beganMs > backMs && call.reply.status === 200,
      ),
    )
  await until('both sell again', async () => soldAgain().every((call) => call !== undefined))
  isOver = true
  await Promise.all(buyers)
  const recoveredMs = Math.max(...soldAgain().map((call) => (call?.endedMs ?? 0) - backMs))
  const whileAway = calls.filter(
    ({ beganMs, endedMs }) => beganMs > goneMs && endedMs < returningMs,
  )
  const others = calls.filter((call) => call.reply.status !== 200 && !whileAway.includes(call))
  const refused = calls.filter(({ reply }) => reply.status !== 200)
  let answered = calls.length - refused.length
  await inParallel(BUYERS, refused.length, async (at) => {
    if ((await answerOf(one, refused[at]?.payment ?? '')).status === 200) answered += 1
  })
  const settled = Number(((await received(chain)) - before) / PRICE)
  const tookMs = whileAway.map(({ beganMs, endedMs }) => endedMs - beganMs)
  const isRight =
    whileAway.length > 0 &&
    whileAway.every(isRefused) &&
    charged === 0 &&
    answered === calls.length &&
    settled === calls.length
  return {
    what: `PostgreSQL away for ${seconds(awayMs)} under the load of ${BUYERS} buyers`,
    measured: [
      `${whileAway.length} calls meanwhile: ${counted(whileAway.map(outcomeOf))}, p50 / p99 ${quantile(tookMs, 0.5).toFixed(0)} / ${quantile(tookMs, 0.99).toFixed(0)} ms`,
      `${charged} of them used on the chain`,
      `refused as it went and came: ${counted(others.map(outcomeOf)) || 'none'}`,
      `both gateways sell ${seconds(recoveredMs)} after its return`,
      `refused payments sent again: ${answered} of ${calls.length} calls answered, ${settled} settled`,
    ].join('; '),
    bar: 'refused, 0 charged',
    isMet: isRight,
    isWrong: !isRight,
  }
}

/** `charged` is null while the ledger cannot say whether an earlier request has charged the payment. */
function isRefused({ reply }: Call): boolean {
  return reply.status === 503 && refusedBy(reply).charged !== true
}

function outcomeOf({ reply }: Call): string {
  const { code, charged } = refusedBy(reply)
  return `${reply.status} ${code} (charged: ${charged})`
}

/** Payments whose nonce the token has used. */
async function chargedAmong(chain: EvmChain, calls: readonly Call[]): Promise<number> {
  const node = createPublicClient({ transport: http(chain.rpcUrl) })
  let charged = 0
  for (const { payment } of calls) {
    const { from, nonce } = authorizationOf(payment)
    const isUsed = await node.readContract({
      ...{ address: chain.usdc, abi: tokenAbi, functionName: 'authorizationState' },
      args: [from, nonce],
    })
    if (isUsed) charged += 1
  }
  return charged
}

function authorizationOf(payment: string): { readonly from: Hex; readonly nonce: Hex } {
  const { payload } = JSON.parse(Buffer.from(payment, 'base64').toString()) as {
    readonly payload: { readonly authorization: { readonly from: Hex; readonly nonce: Hex } }
  }
  return payload.authorization
}
