import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteLedger } from '../src/payment/ledger/sqlite-ledger.ts'
import { PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { drainAttack, feeReportOf } from './attacks/fees.ts'
import { limitOf } from './attacks/recovery.ts'
import { promptClock } from './support/prompt-clock.ts'
import { buy, solanaRig } from './support/solana-rig.ts'

const BARRED = 'invalid_exact_svm_payer_barred'

test('wallets on Solana that are emptied after the simulation are barred by the third time', async () => {
  const attack = await drainAttack(2, 4)
  const report = feeReportOf(attack)
  process.stdout.write(`${report}\n`)
  expect(attack.statuses, report).toEqual({ 402: 8 })
  expect(attack.failures, '3 of each wallet').toHaveLength(6)
  expect(new Set(attack.failures.map(({ lamports }) => lamports))).toEqual(new Set([10_001n]))
  expect(attack.ourLamports, report).toBe(6n * 10_001n)
  expect([...attack.reasons].toSorted()).toEqual(['invalid_exact_svm_insufficient_funds', BARRED])
  const { duringMs, idleMs, recovered } = attack.honest
  expect(duringMs, report).toBeLessThanOrEqual(limitOf(idleMs))
  expect(recovered, report).toBe(true)
})

test('twenty payments at once of a wallet with money for one fail on Solana twice, not nineteen times', async () => {
  const chain = await startSolanaChain({ clock: systemClock, confirmationMs: 400 })
  onTestFinished(() => chain.close())
  const rig = solanaRig(chain, promptClock)
  const ledger = new SqliteLedger(':memory:')
  const facilitator = rig.facilitator({ failures: ledger.failures })
  let verified = 0
  // All are verified before the first is sent.
  const { promise: all, resolve: release, reject: giveUp } = Promise.withResolvers<void>()
  all.catch(() => undefined)
  const atWork = () => {
    verified += 1
    if (verified === 20) release()
    return all
  }
  const host = await rig.hosted({ ledger, methods: [rig.method(facilitator)], atWork })
  onTestFinished(() => host.close())
  const buyer = rig.fundedBuyer(PRICE)
  const before = chain.lamportsOf(chain.accounts.facilitator.address)
  const payments = await Promise.all(
    Array.from({ length: 20 }, (_, index) => rig.paymentOf(buyer, { memo: `${index}` })),
  )
  const bought = async (payment: string) => {
    const answer = await buy(host, payment, '/slow/BTC')
    if (verified === 20) return answer
    const cause = new Error(
      `only ${verified} of 20 payments were verified when one was answered with ${answer.status}: ${answer.text}`,
    )
    // The others would wait for it until the test is over.
    giveUp(cause)
    throw cause
  }
  const answers = await Promise.all(payments.map(bought))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(402)])
  const landed = 1n + 2n
  expect(before - chain.lamportsOf(chain.accounts.facilitator.address)).toBe(landed * 10_001n)
})

test('a wallet on Solana stays barred over a restart, also where we learn of a failure later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-fees-'))
  const ledgerPath = join(folder, 'ledger.db')
  const chain = await startSolanaChain({ clock: systemClock })
  const rig = solanaRig(chain, promptClock)
  onTestFinished(async () => {
    await chain.close()
    rmSync(folder, { recursive: true })
  })
  const opened = async () => {
    const ledger = new SqliteLedger(ledgerPath)
    const { failures } = ledger
    const facilitator = rig.facilitator({ failures })
    const methods = [rig.method(facilitator, { failures })]
    return { ledger, facilitator, host: await rig.hosted({ ledger, methods }) }
  }
  const before = await opened()
  const buyer = rig.fundedBuyer()
  for (const memo of ['1', '2', '3']) {
    const payment = await rig.read(buyer, before.facilitator, { memo })
    expect(await payment.verify()).toEqual({ kind: 'valid' })
    chain.fundUsdc(buyer.address, -chain.balanceOf(buyer.address))
    // The answer was sent, and no request waits for the end of the transfer.
    expect(await payment.settle('broadcast')).toMatchObject({ kind: 'broadcast' })
    for (const _asked of [1, 2]) expect((await payment.outcome()).kind).toBe('forfeited')
    chain.fundUsdc(buyer.address, 1_000_000n)
    const { status } = await buy(before.host, await rig.paymentOf(buyer, { memo: `buys ${memo}` }))
    expect(status, `after ${memo} failures`).toBe(memo === '3' ? 402 : 200)
  }
  await before.host.close()
  const after = await opened()
  const refused = await buy(after.host, await rig.paymentOf(buyer))
  await after.host.close()
  expect(refused.status).toBe(402)
  expect(refused.problem().diagnostics.reason).toBe(BARRED)
})

test('what one sale on Solana may cost us is a tenth of its price', async () => {
  const chain = await startSolanaChain({ clock: systemClock })
  onTestFinished(() => chain.close())
  const rig = solanaRig(chain, promptClock)
  // At 100 USD for a SOL the price of 0.02 USDC is 200,000 lamports.
  const host = await rig.hosted({ methods: [rig.method(rig.facilitator(), { solUsdMax: 100 })] })
  onTestFinished(() => host.close())
  const { facilitator } = chain.accounts
  const before = chain.lamportsOf(facilitator.address)
  const dear = await buy(
    host,
    await rig.paymentOf(rig.fundedBuyer(), { units: 100_000, microlamports: 100_010n }),
  )
  expect(dear.status).toBe(402)
  expect(dear.problem().diagnostics.expected).toMatch(/and 10000 lamports in all/)
  const allowed = await rig.paymentOf(rig.fundedBuyer(), {
    units: 100_000,
    microlamports: 100_000n,
  })
  expect((await buy(host, allowed)).status).toBe(200)
  expect(before - chain.lamportsOf(facilitator.address)).toBe(20_000n)
})
