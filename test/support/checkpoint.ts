import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/roles/system-clock.ts'
import { CheckpointDb } from '../../src/store/checkpoint-db.ts'
import type { Rig } from './service.ts'
import { until } from './service.ts'

/**
 * Four starts in a minute without a checkpoint use up the venue's request weight, and the service waits for the next
 * minute.
 */
export async function untilCheckpointed({ dataDir }: Rig, coin: string): Promise<void> {
  const path = join(dataDir, 'engine.db')
  await until(
    `a checkpoint of ${coin} is written`,
    async () => existsSync(path) && checkpointedCoins(path).includes(coin),
  )
}

/** Reads a copy, because the engine owns the file. A torn copy counts as no checkpoint yet. */
function checkpointedCoins(path: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-checkpoint-'))
  try {
    const copy = join(folder, 'engine.db')
    for (const suffix of ['', '-wal']) cpSync(path + suffix, copy + suffix)
    const { db } = CheckpointDb.open(copy, systemClock.nowMs())
    const coins = [...(db.load()?.coins.keys() ?? [])]
    db.close()
    return coins
  } finally {
    rmSync(folder, { recursive: true })
  }
}
