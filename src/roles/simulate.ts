import closeWithGrace from 'close-with-grace'
import type { SimulateOptions } from '../config.ts'
import { candleReplayMarket } from '../simulator/market/candle-replay-market.ts'
import type { Market } from '../simulator/market/market.ts'
import { recordingMarket } from '../simulator/market/recording-market.ts'
import { seededMarket } from '../simulator/market/seeded-market.ts'
import { startSimulatedVenue } from '../simulator/venue/simulated-venue.ts'
import { scaledClock, systemClock } from './system-clock.ts'

/** `perpscope simulate`: the simulated upstreams on loopback. First line: their URLs, as JSON. */
export async function simulate(
  options: SimulateOptions,
  write: (line: string) => void,
): Promise<void> {
  const startMs = options.startMs ?? systemClock.nowMs()
  const venue = await startSimulatedVenue({
    market: marketOf(options, startMs),
    clock: scaledClock(startMs, options.speed),
    port: options.port,
    limits: { restWeightPerMinute: options.weightPerMinute },
  })
  closeWithGrace(async () => venue.close())
  write(
    `${JSON.stringify({
      venue: {
        ws: venue.wsUrl,
        http: venue.httpUrl,
        seed: options.seed,
        start_ms: startMs,
        ...(venue.clockShiftMs === undefined ? {} : { clock_shift_ms: venue.clockShiftMs }),
      },
    })}\n`,
  )
}

function marketOf({ seed, candles, recording }: SimulateOptions, startMs: number): Market {
  const base =
    candles === undefined
      ? seededMarket({ seed, startMs })
      : candleReplayMarket(candles, { seed, startMs })
  return recording === undefined ? base : recordingMarket(recording, base, { startMs })
}
