import { rmSync } from 'node:fs'
import type { Rig } from './service.ts'
import { startRig } from './service.ts'

let shared: Promise<Rig> | null = null

/**
 * One service for all test files of a worker, which run in sequence; a start takes 10 s until everything is sold. It
 * ends with its worker. A test that restarts it leaves it running; a test that needs other flags or reads its files
 * starts its own service.
 */
export function sharedRig(): Promise<Rig> {
  shared ??= started()
  return shared
}

async function started(): Promise<Rig> {
  const rig = await startRig({ solana: true })
  // Its processes end on `exit`, where nothing can be awaited.
  process.once('exit', () => rmSync(rig.dataDir, { recursive: true, force: true }))
  return rig
}
