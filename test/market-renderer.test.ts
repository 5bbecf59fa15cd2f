import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { MarketJob } from '../src/compute/analysis.ts'
import type { MarketRenderer } from '../src/engine/market-renderer.ts'
import { workerRenderer } from '../src/roles/worker-renderer.ts'

/** A worker that executes test jobs; analyses have their own tests. */
const WORKER = `
let collections = 0
export function collectLargeJob() { collections += 1 }
export function renderMarket({ gathered }) {
  if (gathered === 'die') process.exit(1)
  if (gathered === 'throw') throw new Error('no such market')
  return gathered === 'collections' ? { collections } : { said: gathered }
}
`

describe('a rendering worker', () => {
  let folder: string
  let renderer: MarketRenderer

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-worker-'))
    const file = join(folder, 'worker.mjs')
    writeFileSync(file, WORKER)
    renderer = workerRenderer(() => {}, file)
  })

  afterEach(() => {
    renderer.close()
    rmSync(folder, { recursive: true })
  })

  /** Result of a job, or the message of its failure. */
  const outcomeOf = (gathered: string) =>
    new Promise<unknown>((resolve) => {
      renderer.render({ gathered } as unknown as MarketJob, resolve, (cause) =>
        resolve(`failed: ${cause instanceof Error ? cause.message : String(cause)}`),
      )
    })

  test('returns its result', async () => {
    expect(await outcomeOf('a document')).toEqual({ said: 'a document' })
  })

  test('collects after every job, and before the next', async () => {
    await outcomeOf('a document')
    await outcomeOf('throw')
    expect(await outcomeOf('collections')).toEqual({ collections: 2 })
  })

  test('that throws fails its job and does the next', async () => {
    expect(await outcomeOf('throw')).toBe('failed: no such market')
    expect(await outcomeOf('next')).toEqual({ said: 'next' })
  })

  test('that dies fails its job, and another does the next', async () => {
    expect(await outcomeOf('die')).toMatch(/^failed: /)
    expect(await outcomeOf('next')).toEqual({ said: 'next' })
  })

  test('that cannot start is reported, and does not end other workers', async () => {
    const file = join(folder, 'broken.mjs')
    writeFileSync(file, "import './is-not-there.mjs'")
    const cause = await new Promise<unknown>((resolve) => {
      const broken = workerRenderer(resolve, file)
      onTestFinished(() => broken.close())
      broken.render({} as MarketJob, resolve, () => {})
    })
    expect(String(cause)).toContain('is-not-there')
  })
})
