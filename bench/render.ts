/**
 * Cost of re-rendering every document of 200 coins, by kind, and memory per coin:
 * `node_modules/.bin/tsx bench/render.ts`. The floor is `JSON.stringify` of the same answers as plain objects,
 * measured in turns in the same run. `--quick` only checks that everything is rendered.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Table from 'cli-table3'
import { fillDocument } from '../src/api/fill-document.ts'
import { documentKinds as rendered } from '../src/compute/analyses/registry.ts'
import type { DocumentKinds } from '../src/compute/analysis.ts'
import { PUBLISH_PERIOD_MS } from '../src/compute/processor.ts'
import type { Document } from '../src/domain/document.ts'
import { viewsOf } from '../src/domain/document.ts'
import { FullMarket } from './full-market.ts'

const isQuick = process.argv.includes('--quick')
const COINS = isQuick ? 20 : 200
const ROUNDS = isQuick ? 2 : 30
const WARM_UP_ROUNDS = isQuick ? 0 : 10
const MIB = 2 ** 20

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** All documents are rendered in every cycle, also those that the service renders less often. */
const kinds: DocumentKinds = {
  ...rendered,
  coin: rendered.coin.map((kind) => ({ ...kind, periodMs: PUBLISH_PERIOD_MS })),
}

type Contender = {
  readonly id: string
  readonly market: FullMarket
  readonly msPerCycle: number[]
  readonly floorMs: number[]
  documents: readonly Document[]
}

collectGarbage()
const before = process.memoryUsage()
const whole = new FullMarket(COINS, kinds)
whole.stir(0)
whole.render(0)
collectGarbage()
const after = process.memoryUsage()
const bytesPerCoin =
  (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / COINS

const contenders: Contender[] = [
  contender('all', kinds, whole),
  ...kinds.coin.map((kind) => contender(kind.contract.id, { coin: [kind], market: [] })),
  ...kinds.market.map((kind) => contender(kind.contract.id, { coin: [], market: [kind] })),
]

for (let round = 1; round <= WARM_UP_ROUNDS + ROUNDS; round += 1)
  for (const one of contenders) takeTurn(one, round)

const table = new Table({
  head: ['kind', 'documents', 'bytes', 'ms a cycle', 'µs a document', 'against JSON.stringify'],
  style: { head: [], border: [] },
})
for (const { id, documents, msPerCycle, floorMs } of contenders) {
  const cycleMs = median(msPerCycle)
  table.push([
    id,
    documents.length,
    documents.reduce((sum, { bytes }) => sum + bytes.length, 0),
    cycleMs.toFixed(2),
    ((cycleMs / documents.length) * 1_000).toFixed(1),
    (cycleMs / median(floorMs)).toFixed(2),
  ])
}
console.log(table.toString())
console.log(`${COINS} coins, ${(bytesPerCoin / 1_024).toFixed(1)} KiB a coin with its documents`)
console.log(
  `heap ${(after.heapUsed / MIB).toFixed(1)} MiB, buffers ${(after.arrayBuffers / MIB).toFixed(1)} MiB`,
)
console.log(`sha256 of the last documents: ${checksum(contenders[0]?.documents ?? [])}`)

function contender(
  id: string,
  products: DocumentKinds,
  market = new FullMarket(COINS, products),
): Contender {
  return { id, market, msPerCycle: [], floorMs: [], documents: [] }
}

function takeTurn(one: Contender, round: number): void {
  one.market.stir(round)
  const startedMs = performance.now()
  one.documents = one.market.render(round)
  const renderedMs = performance.now()
  let bytes = 0
  let floorMs = 0
  // One document at a time, because all views of all coins exceed the memory of a process.
  for (const document of one.documents) {
    const answers = answersOf(document)
    const parsedMs = performance.now()
    for (const answer of answers) bytes += Buffer.from(JSON.stringify(answer)).length
    floorMs += performance.now() - parsedMs
  }
  assert(bytes > 0, `${one.id} has answers`)
  if (round <= WARM_UP_ROUNDS) return
  one.msPerCycle.push(renderedMs - startedMs)
  one.floorMs.push(floorMs)
}

/** Copies of all answers of a document; copies, because filled slots are cached with an answer. */
function answersOf(document: Document): unknown[] {
  return Object.values(viewsOf(document)).flatMap((view) =>
    view.kind === 'answer'
      ? [JSON.parse(fillDocument(document, { ...view }, fillFacts(document)).toString('utf8'))]
      : [],
  )
}

function fillFacts({ renderedAtMs }: Document) {
  return { nowMs: renderedAtMs, executionMs: 0, coinsAvailable: COINS }
}

function checksum(documents: readonly Document[]): string {
  const hash = createHash('sha256')
  for (const { key, bytes } of documents) hash.update(key).update(bytes)
  return hash.digest('hex').slice(0, 16)
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
