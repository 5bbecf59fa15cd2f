import { expect, test } from 'vitest'
import { runBackupKills } from './backup/backup-kills.ts'

/** The long run is `npm run backup-kills -- --kills 100`. */
test('killed during a backup, the service loses nothing, and the copy continues to sell', async () => {
  const seed = 7
  const result = await runBackupKills({ seed, kills: 2, sampleSales: 2 })
  expect(result.violations, `npm run backup-kills -- --seed ${seed} --kills 2`).toEqual([])
  expect(result.backups + result.backupsKilled).toBeGreaterThan(result.kills)
  expect(result.restores).toBe(1)
  expect(result.soldAfterRestores).toBeGreaterThan(0)
})
