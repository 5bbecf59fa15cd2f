import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnswerFile } from '../src/proof/answer-file.ts'
import { answerFileText } from '../src/proof/answer-file.ts'
import { checkAnswer } from '../src/proof/check-answer.ts'
import { verdictOf } from '../src/proof/check-verdict.ts'
import { recomputedStep } from '../src/roles/recomputed-answer.ts'
import { Chance } from './simulation/chance.ts'
import { boughtAnswer } from './support/bought-answers.ts'
import type { Ended, Rig } from './support/service.ts'
import { fromElsewhere, runCommand, startRig, until } from './support/service.ts'

const PATHS = [
  '/pulse/BTC',
  '/pulse/ETH?timeframes=15m,4h&view=compact',
  '/spread/PEPE?fields=mid_price,meta',
  '/bundle/BTC',
]
const MUTATIONS = 1_000
/** Up to PEPE, which is sold in thousands. */
const COINS = ['--coins', '16']

describe('a bought answer', () => {
  const key = generatePrivateKey()
  const signer = privateKeyToAccount(key).address
  let folder: string
  let recording: string
  let rig: Rig
  const bought: AnswerFile[] = []
  let atService: Ended

  /** What is no payment is refused for itself only where there is something to sell. */
  const untilItIsSold = (path: string) =>
    until(`${path} is sold`, async () => {
      const headers = { 'x-payment': '%%%' }
      const refused = await fromElsewhere()(rig.url + path, { headers })
      return ((await refused.json()) as { code: string }).code === 'malformed_payment'
    })

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-verify-'))
    recording = join(folder, 'recording')
    // Each answer is computed again from all that was recorded before its sale.
    const flags = ['--dexes', 'off', '--receipt-key', key, '--record', recording]
    rig = await startRig({ coins: COINS, flags })
    const file = join(folder, 'answer.json')
    for (const path of PATHS) {
      await untilItIsSold(path)
      const answer = await boughtAnswer(rig, path)
      if (bought.push(answer) > 1) continue
      // Before the others are bought: an hour is sealed 30 s after its end.
      writeFileSync(file, answerFileText(answer))
      atService = await runCommand(['verify', file, '--url', rig.url, '--json'])
    }
    // The end of the recording is written.
    await rig.stop()
  })

  afterAll(async () => {
    await rig?.close()
    rmSync(folder, { recursive: true })
  })

  test('is verified by the service that sold it, and its hour is open', () => {
    const { code, output, errors } = atService
    expect(errors).toBe('')
    const { verdict, steps } = JSON.parse(output) as {
      verdict: string
      steps: { id: string; verdict: string }[]
    }
    expect({ code, verdict }).toEqual({ code: 0, verdict: 'verified' })
    expect(steps.map((one) => `${one.id} ${one.verdict}`)).toEqual([
      ...['signature holds', 'payment holds', 'call holds', 'content holds', 'inclusion open'],
    ])
  })

  test('is verified, and computed again from the recording, byte by byte', async () => {
    for (const file of bought) {
      expect(verdictOf(await checkAnswer(file, signer)), file.path ?? '').toBe('verified')
      expect(recomputedStep(file, recording)).toMatchObject({
        verdict: 'holds',
        text: expect.stringContaining('the same'),
      })
    }
  })

  test('with one figure changed is contradicted by the recording', () => {
    const [first] = bought
    if (first === undefined) throw new Error('one was bought')
    const answer = { ...first.answer, price: { current: 1 } }
    expect(recomputedStep({ ...first, answer }, recording)).toMatchObject({ verdict: 'fails' })
  })

  test(`is contradicted after each of ${MUTATIONS} changes`, async () => {
    const chance = new Chance(3, 'mutations')
    for (let at = 0; at < MUTATIONS; at += 1) {
      const file = bought[at % bought.length] as AnswerFile
      const text = JSON.stringify(file.answer)
      const mutated = mutate(text, chance)
      const steps = await checkAnswer({ ...file, answer: mutated }, signer)
      expect(verdictOf(steps), JSON.stringify(mutated)).toBe('contradicted')
    }
  })
})

/** Changes one digit, letter or truth value, so that the result is other JSON. */
function mutate(text: string, chance: Chance): AnswerFile['answer'] {
  for (;;) {
    const at = Math.floor(chance.next() * text.length)
    const from = text[at] ?? ''
    const to = /\d/.test(from) ? String((Number(from) + 1) % 10) : /[a-z]/.test(from) ? 'q' : from
    if (to === from) continue
    try {
      const mutated = JSON.parse(text.slice(0, at) + to + text.slice(at + 1))
      if (JSON.stringify(mutated) !== text) return mutated
    } catch {
      // Another place.
    }
  }
}
