import { parseArgs } from 'node:util'
import { untilCheckpointed } from '../test/support/checkpoint.ts'
import { restartWhileSelling } from '../test/support/drained-sales.ts'
import { startRig, untilAnswerable } from '../test/support/service.ts'

/** Restarts a selling service by SIGTERM, and fails if a paid call was lost or charged twice. */
const { values } = parseArgs({ options: { restarts: { type: 'string', default: '50' } } })

let isInterrupted = false
// The restarts so far are reported.
process.once('SIGINT', () => {
  isInterrupted = true
})

const rig = await startRig()
try {
  await untilAnswerable(rig.url, 'BTC')
  await untilCheckpointed(rig, 'BTC')
  const { stopMs, surplus, exitCodes, bodies, ...sales } = await restartWhileSelling(
    rig,
    Number(values.restarts),
    (restart) => {
      process.stderr.write(`restart ${restart}\n`)
      return !isInterrupted
    },
  )
  const sorted = stopMs.toSorted((one, other) => one - other)
  const failed = exitCodes.filter((code) => code !== 0).length
  console.log(sales)
  for (const [reply, body] of Object.entries(bodies)) console.log(`${reply}: ${body}`)
  console.log(
    `stop: p50 ${sorted[sorted.length >> 1]?.toFixed(0)} ms, longest ${sorted.at(-1)?.toFixed(0)} ms; ` +
      `${failed} exit codes other than 0; USDC atoms beyond one price for each answer: ${surplus}`,
  )
  if (failed > 0 || surplus !== 0n || sales.unclear > 0) process.exitCode = 1
} finally {
  await rig.close()
}
