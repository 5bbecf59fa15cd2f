import { performance } from 'node:perf_hooks'
import { systemClock } from '../../src/roles/system-clock.ts'
import { buy, newPayment, PRICE } from './killed-sales.ts'
import type { Rig } from './service.ts'
import { fromElsewhere, until, untilAnswerable } from './service.ts'

/** Buyers at work at once. */
const BUYERS = 6
/** Retries of one buyer are this far apart, as of a client that reads Retry-After. */
const RETRY_MS = 200

/** What buyers experienced while the service was restarted by SIGTERM. */
export type DrainedSales = {
  readonly restarts: number
  readonly answered: number
  /** Refused as expired before a restarted service took them; nothing may be charged for these. */
  readonly expired: number
  /** By status and code of the problem, or `no_connection`. */
  readonly replies: Readonly<Record<string, number>>
  /** The first body of each reply 5xx. */
  readonly bodies: Readonly<Record<string, string>>
  /** Replies 5xx that do not state when to send the same payment again, and whether it was charged. */
  readonly unclear: number
  readonly exitCodes: readonly (number | null)[]
  /** Duration of each stop. */
  readonly stopMs: readonly number[]
  /** Money that came, less one price for each answer. */
  readonly surplus: bigint
}

/**
 * Restarts a service under load; every buyer repeats its call with one payment until it has its answer.
 * @param onRestart called after each restart; false ends them
 */
export async function restartWhileSelling(
  rig: Rig,
  restarts: number,
  onRestart: (restart: number) => boolean = () => true,
): Promise<DrainedSales> {
  const { address } = rig.chain.accounts.merchant
  const before = await rig.chain.balanceOf(address)
  const replies: Record<string, number> = {}
  const bodies: Record<string, string> = {}
  let [answered, expired, unclear, isOver] = [0, 0, 0, false]
  const count = (reply: string) => {
    replies[reply] = (replies[reply] ?? 0) + 1
  }
  const pause = () => new Promise<void>((resolve) => systemClock.after(RETRY_MS, resolve))

  async function bought(payment: string, speak: typeof fetch): Promise<void> {
    for (;;) {
      const reply = await buy(rig, payment, speak).catch(() => null)
      const body = await reply?.text().catch(() => null)
      count(reply === null ? 'no_connection' : `${reply.status}${codeOf(body)}`)
      if (reply?.status === 200 && typeof body === 'string') {
        answered += 1
        return
      }
      if (reply?.status === 402) {
        expired += 1
        return
      }
      if (reply !== null && reply.status >= 500) {
        bodies[`${reply.status}${codeOf(body)}`] ??= body ?? ''
        if (!isClear(reply, body)) unclear += 1
      }
      await pause()
    }
  }

  const buyer = async () => {
    const speak = fromElsewhere()
    while (!isOver) await bought(await newPayment(rig), speak)
  }
  const buyers = Array.from({ length: BUYERS }, buyer)
  const [exitCodes, stopMs]: [(number | null)[], number[]] = [[], []]
  let isWanted = true
  try {
    for (let restart = 0; restart < restarts && isWanted; restart += 1) {
      const sold = answered
      await until('sales are under way', async () => answered >= sold + BUYERS)
      const startedMs = performance.now()
      exitCodes.push(await rig.stop())
      stopMs.push(performance.now() - startedMs)
      await rig.start()
      await untilAnswerable(rig.url, 'BTC')
      isWanted = onRestart(restart + 1)
    }
  } finally {
    isOver = true
  }
  await Promise.all(buyers)
  const received = (await rig.chain.balanceOf(address)) - before
  const surplus = received - PRICE * BigInt(answered)
  return {
    restarts: stopMs.length,
    answered,
    expired,
    replies,
    bodies,
    unclear,
    exitCodes,
    stopMs,
    surplus,
  }
}

/** `charged` is null where an earlier call may have charged the payment. */
function isClear({ status, headers }: Response, body: string | null | undefined): boolean {
  if (status !== 503 || headers.get('retry-after') === null || typeof body !== 'string')
    return false
  const { charged, payment_reusable: isReusable, code, detail } = JSON.parse(body)
  return (charged === false || charged === null) && isReusable && Boolean(code && detail)
}

/** Of a problem document, after a space; empty for any other body. */
function codeOf(body: string | null | undefined): string {
  const [, code] = /"code":"(\w+)"/.exec(body ?? '') ?? []
  return code === undefined ? '' : ` ${code}`
}
