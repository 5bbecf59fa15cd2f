import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fillDocument } from '../../src/api/fill-document.ts'
import { contracts } from '../../src/compute/analyses/registry.ts'
import { keyOf } from '../../src/domain/contract.ts'
import { viewOf } from '../../src/domain/document.ts'
import type { Json } from './answers.ts'
import { SimulatedService } from './simulated-service.ts'

const SEED = 7
const COINS = 20
/** Long enough for every analysis to have an answer. Its history comes from the venue and from the simulated past. */
const RUN_SECONDS = 180
const COIN = 'BTC'
/** Views sampled instead of a default view that is long and repetitive. */
const SHORT_VIEWS: ReadonlyMap<string, string> = new Map([['screener', 'full,3']])

/** One answer per analysis id, from the engine on the simulated market; identical at every call. */
export function sampleAnswers(): ReadonlyMap<string, Json> {
  const dataDir = mkdtempSync(join(tmpdir(), 'perpscope-samples-'))
  try {
    const options = { seed: SEED, coins: COINS, dataDir, version: '0.0.0', hasPast: true }
    const service = new SimulatedService(options)
    service.run(RUN_SECONDS)
    const answers = contracts.map((contract) => {
      const document = service.replica.document(keyOf(contract, COIN))
      const view =
        document && viewOf(document, SHORT_VIEWS.get(contract.id) ?? contract.defaultView)
      assert(document !== undefined && view?.kind === 'answer', `${contract.id} has no answer`)
      const bytes = fillDocument(document, view, {
        nowMs: service.clock.nowMs(),
        executionMs: 0.2,
        coinsAvailable: service.replica.coins().length,
      })
      const answer: Json = JSON.parse(bytes.toString('utf8'))
      const { provider, ...meta } = answer.meta
      return [contract.id, { ...answer, meta: { provider, sample: true, ...meta } }] as const
    })
    service.stop()
    return new Map(answers)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
