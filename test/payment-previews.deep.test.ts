import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { previewOf } from '../src/api/answer-preview.ts'
import { fillDocument } from '../src/api/fill-document.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import type { AnalysisContract } from '../src/domain/contract.ts'
import { keyOf } from '../src/domain/contract.ts'
import type { Answer } from '../src/domain/document.ts'
import { viewOf } from '../src/domain/document.ts'
import { exactEvm } from '../src/payment/evm/exact-evm.ts'
import { base, baseSepolia } from '../src/payment/evm/networks.ts'
import { termsOf } from '../src/payment/terms.ts'
import { newSecret } from '../src/payment/testing/new-secret.ts'
import type { Json } from './support/answers.ts'
import { SimulatedService } from './support/simulated-service.ts'

const SEED = 7
const COINS = 9
/** Time until the last analysis has an answer. */
const RUN_SECONDS = 180
const COIN = 'BTC'
const LONGEST_QUERY = 'timeframes=15m,1h,4h&view=compact&fields=coin,meta.quality,meta.as_of'

let dataDir: string
let service: SimulatedService

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perpscope-previews-'))
  service = new SimulatedService({
    seed: SEED,
    coins: COINS,
    dataDir,
    version: '0.0.0',
    hasPast: true,
  })
  service.run(RUN_SECONDS)
})

afterAll(() => {
  service?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** The current default answer of one analysis, as sold and as announced in the quote. */
function soldAndAnnounced(contract: AnalysisContract) {
  const nowMs = service.clock.nowMs()
  const document = service.replica.document(keyOf(contract, COIN))
  const answer = document && viewOf(document, contract.defaultView)
  assert(document !== undefined && answer?.kind === 'answer', `${contract.id} has no answer`)
  const facts = { nowMs, executionMs: 0, coinsAvailable: COINS }
  const sold: Json = JSON.parse(fillDocument(document, answer, facts).toString('utf8'))
  const etag = `"${document.version}-${contract.defaultView}"`
  const extensions = previewOf({ document, answer, etag }, nowMs)
  return { meta: sold.meta, answer, extensions }
}

describe.each(contracts.map((contract) => ({ id: contract.id, contract })))(
  'the preview of $id',
  ({ contract }) => {
    test('equals the quality members of the answer', () => {
      const { meta, answer, extensions } = soldAndAnnounced(contract)
      const { info } = extensions['answer-preview'] as { info: Record<string, unknown> }
      expect(info).toMatchObject({
        snapshot_id: meta.snapshot_id,
        next_update_iso: meta.valid_until_iso,
        quality_grade: meta.quality.grade,
        coverage: meta.quality.coverage_pct,
        data_age_seconds: Math.floor(meta.data_age_seconds),
      })
      expect(Object.keys(info['as_of'] as object)).toEqual(inputNames(answer))
      const isBundle = answer.components !== undefined
      if (!isBundle) expect(info['as_of']).toEqual(meta.as_of)
    })

    test('fits into the quote of a long call', () => {
      const { extensions } = soldAndAnnounced(contract)
      const unasked = () => Promise.reject(new Error('a quote asks nobody'))
      const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
      const payTo = '0x00000000000000000000000000000000000000A1'
      const { priceUsdcAtomic, summary } = contract
      const terms = termsOf(
        { priceUsdcAtomic, description: summary },
        [base, baseSepolia].map((network) => exactEvm({ network, payTo, facilitator })),
      )
      const resourceUrl = `https://perpscope.example.com/${contract.id}/BTC?${LONGEST_QUERY}`
      const header =
        terms.quote({ resourceUrl, secret: newSecret(), extensions }).headers['payment-required'] ??
        ''
      const quoted = JSON.parse(Buffer.from(header, 'base64').toString())
      expect(quoted.extensions).toMatchObject(extensions)
      expect(header.length).toBeLessThan(4_096)
    })
  },
)

function inputNames({ inputs }: Answer): string[] {
  return [...new Set(inputs.map(({ name }) => name))]
}
