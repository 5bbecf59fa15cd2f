import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import type { Document } from '../src/domain/document.ts'
import { documentKey, hasAnswer, WHOLE_MARKET } from '../src/domain/document.ts'
import type { EngineReplica } from '../src/link/engine-replica.ts'
import { SimulatedService } from './support/simulated-service.ts'

const SEED = 7
const COINS = 4
const VERSION = '0.0.0'
const START_MS = Date.UTC(2026, 9, 7, 15, 7)
const RUN_SECONDS = 150
const PAUSE_SECONDS = 3

let dataDir: string
/** What was answered when the engine ended. */
let before: ReadonlyMap<string, Document>
let endedMs: number

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perpscope-again-'))
  const service = started(join(dataDir, 'first'), START_MS)
  service.run(RUN_SECONDS)
  before = answersOf(service.replica)
  endedMs = service.clock.nowMs()
  service.stop()
})

afterAll(() => rmSync(dataDir, { recursive: true }))

describe('an engine that was ended and started again', () => {
  test('answers all that it answered before, before it has heard anything', () => {
    const analyses = new Set(Array.from(before.keys(), (key) => key.split('/')[0]))
    expect(analyses.size, 'what cannot be made anew of a checkpoint is among them').toBe(13)
    restarted(({ replica }) => expect(missing(replica)).toEqual([]))
  })

  test('does not say that anything is newer than it is', () => {
    restarted(({ replica }) => {
      const newestMs = Math.max(...[...answersOf(replica).values()].flatMap(instantsOf))
      expect(newestMs).toBeLessThanOrEqual(endedMs)
    })
  })

  test('does not take back what it needs some seconds to remember', () => {
    restarted((service) => {
      for (let second = 1; second <= 60; second += 1) {
        service.run(1)
        expect(missing(service.replica), `${second} s after its start`).toEqual([])
      }
    })
  })
})

function restarted(look: (service: SimulatedService) => void): void {
  const copy = mkdtempSync(join(dataDir, 'copy-'))
  cpSync(join(dataDir, 'first'), copy, { recursive: true })
  const service = started(copy, endedMs + PAUSE_SECONDS * 1_000)
  try {
    look(service)
  } finally {
    service.stop()
  }
}

function missing(replica: EngineReplica): readonly string[] {
  const after = answersOf(replica)
  return [...before.keys()].filter((key) => !after.has(key))
}

function started(folder: string, startMs: number): SimulatedService {
  return new SimulatedService({
    seed: SEED,
    coins: COINS,
    dataDir: folder,
    version: VERSION,
    startMs,
  })
}

function answersOf(replica: EngineReplica): ReadonlyMap<string, Document> {
  const coins = replica.coins()
  const answers = new Map<string, Document>()
  for (const { id, scope } of contracts) {
    for (const subject of scope === 'market' ? [WHOLE_MARKET] : coins) {
      const document = replica.document(documentKey(id, subject))
      if (document !== undefined && hasAnswer(document)) answers.set(document.key, document)
    }
  }
  return answers
}

function instantsOf({ views }: Document): readonly number[] {
  return Object.values(views).flatMap((view) =>
    view.kind === 'answer' ? view.inputs.map(({ confirmedAtMs }) => confirmedAtMs) : [],
  )
}
