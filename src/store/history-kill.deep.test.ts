import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import type { HistoryNotice } from './history-store.ts'
import { HistoryStore } from './history-store.ts'
import { barsFrom, START_MS } from './testing/history-rows.ts'

const WRITER = join(import.meta.dirname, 'testing/history-writer.ts')
const ROUNDS = 6

test('a writer that is killed loses nothing that it had reported as written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-kill-'))
  const path = join(folder, 'history.db')
  try {
    let reported = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      // Every round another number of reports, so that the end falls elsewhere.
      reported = await writeUntilKilled(path, reported, 3 + round * 5)
      const notices: HistoryNotice[] = []
      const store = new HistoryStore({ path, onNotice: (notice) => notices.push(notice) }, 0)
      for (let turn = 0; turn < 4; turn += 1) for (const _ of store.tidy(0));
      for (let coin = 0; coin < 40; coin += 1) {
        const bars = store.bars(`C${coin}`, START_MS)
        expect(bars.length).toBeGreaterThanOrEqual(reported)
        expect(bars).toEqual(barsFrom(START_MS, bars.length))
      }
      expect(notices).toEqual([])
      store.close(0)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** @returns how many bars of every coin it had reported last. */
async function writeUntilKilled(path: string, from: number, reports: number): Promise<number> {
  const child = spawn(process.execPath, [WRITER, path, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let reported = from
  let heard = 0
  for await (const line of createInterface({ input: child.stdout })) {
    reported = Number(line)
    heard += 1
    if (heard === reports) child.kill('SIGKILL')
  }
  const [, signal] = await ended
  expect(signal, 'it did not end by itself').toBe('SIGKILL')
  return reported
}
