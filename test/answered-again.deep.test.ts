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
/** Every analysis has an answer by then, at a REST weight at which history comes at once, and documents are kept once. */
const RUN_SECONDS = 90
const WEIGHT_PER_MINUTE = 50_000
const PAUSE_SECONDS = 3
/** Every document is rendered again within this time ... */
const RENDERED_MS_MAX = 6_000
/** ... and candles are confirmed by the next book, which comes within this one. */
const BOOK_MS_MAX = 6_000

let dataDir: string
/** Answers at the end of the engine. */
let before: ReadonlyMap<string, Document>
let endedMs: number

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'perpscope-again-'))
  const service = new SimulatedService({
    ...options(join(dataDir, 'stopped'), START_MS),
    hasPast: true,
    weightPerMinute: WEIGHT_PER_MINUTE,
  })
  service.run(RUN_SECONDS)
  before = answersOf(service.replica)
  endedMs = service.clock.nowMs()
  // The files of a killed engine.
  cpSync(join(dataDir, 'stopped'), join(dataDir, 'killed'), { recursive: true })
  service.stop()
})

afterAll(() => rmSync(dataDir, { recursive: true }))

describe.each(['stopped', 'killed'])('an engine that was %s and started again', (how) => {
  /** At its start. */
  let replica: EngineReplica

  beforeAll(() => {
    restarted(how, (service) => {
      replica = service.replica
    })
  })

  test('gives the same answers as before, without new data', () => {
    const analyses = new Set(Array.from(before.keys(), (key) => key.split('/')[0]))
    expect(analyses.size, 'includes analyses that a checkpoint cannot restore').toBe(
      contracts.length,
    )
    expect(missing(replica)).toEqual([])
  })

  test('knows the coin of every answer', () => {
    for (const coin of replica.coins()) expect(replica.resolve(coin)?.coin).toBe(coin)
  })

  test('does not state a later time than that of its data', () => {
    const after = answersOf(replica)
    const renewed = [...before].flatMap(([key, document]) => {
      const again = after.get(key)
      const instants = again === undefined ? [] : [...instantsOf(again)]
      const known = new Map(instantsOf(document))
      // A new rendering may include the seconds since the previous document.
      const latestMs = (input: string) =>
        Math.min(
          endedMs,
          (known.get(input) ?? endedMs) +
            RENDERED_MS_MAX +
            (input.includes('candles') ? BOOK_MS_MAX : 0),
        )
      return instants.filter(([input, ms]) => ms > latestMs(input))
    })
    expect(renewed).toEqual([])
  })

  test('does not take back what it needs some seconds to remember', () => {
    restarted(how, (service) => {
      for (let second = 1; second <= 60; second += 1) {
        service.run(1)
        expect(missing(service.replica), `${second} s after its start`).toEqual([])
      }
    })
  })

  test('does not answer from before after the clock was set back', () => {
    restarted(
      how,
      ({ replica }) => {
        const answered = [...answersOf(replica).values()].filter(
          ({ key, version }) => version === before.get(key)?.version,
        )
        expect(answered).toEqual([])
      },
      endedMs - 600_000,
    )
  })
})

function restarted(
  how: string,
  look: (service: SimulatedService) => void,
  startMs = endedMs + PAUSE_SECONDS * 1_000,
): void {
  const copy = mkdtempSync(join(dataDir, 'copy-'))
  cpSync(join(dataDir, how), copy, { recursive: true })
  const service = new SimulatedService(options(copy, startMs))
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

function options(folder: string, startMs: number) {
  return { seed: SEED, coins: COINS, dataDir: folder, version: VERSION, startMs }
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

/** Times by view and input. */
function instantsOf({ key, views }: Document): readonly (readonly [string, number])[] {
  return Object.entries(views).flatMap(([name, view]) =>
    view.kind === 'answer'
      ? view.inputs.map((input) => [`${key} ${name} ${input.name}`, input.confirmedAtMs] as const)
      : [],
  )
}
