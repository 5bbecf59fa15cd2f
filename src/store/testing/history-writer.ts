import { HistoryStore } from '../history-store.ts'
import { barBatch, barsFrom, START_MS } from './history-rows.ts'

/**
 * A process that writes until it is killed, and says on standard output how many bars of every coin are
 * written. Arguments: path of the file, bars that it begins with.
 */
const [path = '', from = '0'] = process.argv.slice(2)
const COINS = 40
const BARS = 7
const HOUR_MS = 3_600_000

const complain = (notice: object) => {
  throw new Error(JSON.stringify(notice))
}
const store = new HistoryStore({ path, onNotice: complain }, 0)
for (let first = Number(from); ; first += BARS) {
  for (let coin = 0; coin < COINS; coin += 1) {
    const bars = barsFrom(START_MS + first * HOUR_MS, BARS)
    store.add(barBatch(`C${coin}`, bars))
  }
  for (const _ of store.write(0));
  process.stdout.write(`${first + BARS}\n`)
}
