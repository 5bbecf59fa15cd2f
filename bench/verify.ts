import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { contracts } from '../src/compute/analyses/registry.ts'
import type { AnswerFile } from '../src/proof/answer-file.ts'
import { checkAnswer } from '../src/proof/check-answer.ts'
import { verdictOf } from '../src/proof/check-verdict.ts'
import { recomputedStep } from '../src/roles/recomputed-answer.ts'
import { boughtAnswer } from '../test/support/bought-answers.ts'
import { startRig, until, untilSold } from '../test/support/service.ts'

/**
 * Buys answers of a recorded service, ends it, and checks each as `perpscope verify --recording` does: the receipt, and the
 * answer computed again from the recording, byte by byte. Fails if one of them is not verified.
 */
const answers = process.argv.includes('--quick') ? 8 : 100
const paths = [
  ...[
    '/pulse/BTC',
    '/pulse/ETH?timeframes=15m,4h&view=compact',
    '/spread/PEPE?fields=mid_price,meta',
  ],
  ...['/bundle/BTC', '/pulse/SOL', '/spread/ETH', '/bundle/SOL?view=compact', '/pulse/DOGE'],
]

const folder = mkdtempSync(join(tmpdir(), 'perpscope-verify-'))
const recording = join(folder, 'recording')
const key = generatePrivateKey()
const signer = privateKeyToAccount(key).address
const quotes = ['--quotes-per-address-per-minute', '100000']
const rig = await startRig({ flags: ['--receipt-key', key, '--record', recording, ...quotes] })
const bought: AnswerFile[] = []
try {
  for (const contract of contracts)
    if (paths.some((path) => path.startsWith(`/${contract.id}`)))
      await untilSold(rig.url, contract, 'BTC')
  for (let at = 0; at < answers; at += 1) {
    const path = paths[at % paths.length] as string
    // On a busy machine the data of a coin are stale now and then.
    await until('it is quoted', async () => (await fetch(rig.url + path)).status === 402)
    bought.push(await boughtAnswer(rig, path))
  }
  // The end of the recording is written.
  await rig.stop()
  const startMs = performance.now()
  let verified = 0
  for (const file of bought) {
    const steps = [...(await checkAnswer(file, signer)), recomputedStep(file, recording)]
    if (verdictOf(steps) === 'verified') verified += 1
    else console.log(file.path, JSON.stringify(steps.filter(({ verdict }) => verdict !== 'holds')))
  }
  const seconds = (performance.now() - startMs) / 1_000
  console.log(
    `${verified} of ${answers} answers verified and computed again, ${(seconds / answers).toFixed(2)} s each`,
  )
  if (verified < answers) process.exitCode = 1
} finally {
  await rig.close()
  rmSync(folder, { recursive: true })
}
