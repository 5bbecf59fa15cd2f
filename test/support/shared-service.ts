import { rmSync } from 'node:fs'
import type { Rig } from './service.ts'
import { startRig } from './service.ts'

let shared: Promise<Rig> | null = null

/**
 * One service for all files of a worker, which run one after the other: until everything is sold takes one 10 s. It
 * ends with its worker. Whoever restarts it leaves it running; whoever needs other flags, or looks into its files,
 * starts one of its own.
 */
export function sharedRig(): Promise<Rig> {
  shared ??= started()
  return shared
}

async function started(): Promise<Rig> {
  const rig = await startRig({ solana: true })
  // Its processes end by themselves at exit, where nothing can be waited for.
  process.once('exit', () => rmSync(rig.dataDir, { recursive: true, force: true }))
  return rig
}
