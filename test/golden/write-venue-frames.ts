/**
 * Records the frames of the simulated venue for a client that subscribes to every channel:
 * `node_modules/.bin/tsx test/golden/write-venue-frames.ts`. The decoder's tests read them, because a clone
 * has no recorded frames of the real venue.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { seededMarket } from '../../src/simulator/market/seeded-market.ts'
import { venueCadences, venueLimits } from '../../src/simulator/venue/limits.ts'
import { ScriptedClient } from '../../src/simulator/venue/testing/scripted-client.ts'
import { Venue } from '../../src/simulator/venue/venue.ts'
import { venueChannels } from '../../src/streams/hyperliquid/wire/channels.ts'
import {
  coinSubscriptions,
  marketChannels,
} from '../../src/streams/hyperliquid/wire/subscription.ts'
import { ManualClock } from '../support/manual-clock.ts'

const FOLDER = resolve(import.meta.dirname, '../../src/streams/hyperliquid/wire/fixtures')
const START_MS = Date.UTC(2026, 0, 1, 12)
const RECORDED_MS = 20_000
const COINS = ['BTC', 'kPEPE', 'SOL']

const clock = new ManualClock(START_MS)
const venue = new Venue({
  market: seededMarket({ seed: 3, startMs: START_MS }),
  clock,
  limits: venueLimits,
  cadences: venueCadences,
})
const replies = [
  { type: 'metaAndAssetCtxs' },
  {
    type: 'candleSnapshot',
    req: { coin: 'kPEPE', interval: '15m', startTime: START_MS - 90_000_000 },
  },
].flatMap((request) => venue.info('recorder', JSON.stringify(request))?.body ?? [])

const client = new ScriptedClient(venue)
for (const type of marketChannels) client.subscribe({ type })
for (const coin of COINS)
  for (const subscription of coinSubscriptions(coin, venueChannels)) client.subscribe(subscription)
client.send({ method: 'ping' })
clock.advance(RECORDED_MS)
venue.close()

write('replies.jsonl.gz', replies)
write('frames.jsonl.gz', client.texts)

function write(file: string, lines: readonly string[]): void {
  const bytes = gzipSync(`${lines.join('\n')}\n`, { level: 9 })
  writeFileSync(resolve(FOLDER, file), bytes)
  console.log(`${file}: ${lines.length} lines, ${bytes.length} bytes`)
}
