import { newPayment, PRICE } from '../test/support/killed-sales.ts'
import { until } from '../test/support/service.ts'
import { answerOf, buy, buyByPublicClient, inParallel, received, wait } from './cluster-buyers.ts'
import { ledgerAway } from './cluster-ledger.ts'
import type { ClusterLine } from './cluster-line.ts'
import type { SellingCluster } from './cluster-selling.ts'
import { quotes, startSelling } from './cluster-selling.ts'

const COPIES = 4
const RACES_AT_ONCE = 8
const POSTGRES_AWAY_MS = 1_000
const BUYERS = 50

export type SalesSize = {
  readonly races: number
  readonly killedCalls: number
  readonly ledgerAwayMs: number
}

/** Sales of two gateway processes that share a PostgreSQL ledger, while parts of it end. */
export async function* salesLines(size: SalesSize): AsyncGenerator<ClusterLine> {
  const selling = await startSelling(1)
  try {
    yield await racedPayments(selling, size.races)
    yield await killedGateway(selling, size.killedCalls)
    yield await ledgerAway(selling, size.ledgerAwayMs)
  } finally {
    await selling.close()
  }
}

async function racedPayments(
  { chain, postgres, one, other }: SellingCluster,
  races: number,
): Promise<ClusterLine> {
  const before = await received(chain)
  let begun = 0
  let repeated = 0
  let answered = 0
  let different = 0
  const restart = (async () => {
    await until('a third has begun', async () => begun >= races / 3)
    await postgres.crash()
    await wait(POSTGRES_AWAY_MS)
    await postgres.start()
  })()
  await inParallel(RACES_AT_ONCE, races, async () => {
    const payment = await newPayment({ chain })
    begun += 1
    const copies = Array.from({ length: COPIES }, (_, at) => (at % 2 === 0 ? one : other))
    const replies = await Promise.all(
      copies.map(async (gateway) => {
        const reply = await buy(gateway, payment)
        if (reply.status === 200) return reply
        repeated += 1
        return await answerOf(gateway, payment)
      }),
    )
    if (replies.every(({ status }) => status === 200)) answered += 1
    if (new Set(replies.map(({ text }) => text)).size > 1) different += 1
  })
  await restart
  const settled = Number(((await received(chain)) - before) / PRICE)
  const isRight = answered === races && settled === races && different === 0
  return {
    what: `${races} payments, each at two gateways twice at once, PostgreSQL restarted in between`,
    measured: `${answered} answered, ${settled} settled, ${different} with different answers, ${repeated} of ${COPIES * races} calls repeated`,
    bar: `${races}, ${races}, 0`,
    isMet: isRight,
    isWrong: !isRight,
  }
}

async function killedGateway(
  { chain, one, other }: SellingCluster,
  calls: number,
): Promise<ClusterLine> {
  const before = await received(chain)
  let begun = 0
  let answered = 0
  let repeated = 0
  const kill = (async () => {
    await until('half has begun', async () => begun >= calls / 2)
    await one.stop('SIGKILL')
  })()
  await inParallel(BUYERS, calls, async (at) => {
    begun += 1
    const [gateway, alternative] = at % 2 === 0 ? [one, other] : [other, one]
    const { isAnswered, repetitions } = await buyByPublicClient(chain, gateway, alternative)
    if (isAnswered) answered += 1
    repeated += repetitions
  })
  await kill
  const settled = Number(((await received(chain)) - before) / PRICE)
  await one.start()
  await quotes(one)
  const isRight = answered === calls && settled === calls
  return {
    what: `a gateway SIGKILL in the middle of ${calls} paid calls of ${BUYERS} buyers with @x402/fetch, whose transport repeats once`,
    measured: `${settled} settled, ${answered} answered, ${repeated} payments sent twice, ${calls - answered} errors`,
    bar: `${calls}, ${calls}, 0 errors`,
    isMet: isRight,
    isWrong: !isRight,
  }
}
