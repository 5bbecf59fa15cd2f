import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import type { SimulateOptions } from '../config/simulate.ts'
import { recordedFrames } from '../engine/recorded-frames.ts'
import { startEvmChain } from '../simulator/evm/evm-chain.ts'
import { ReferencePrices } from '../simulator/external/reference-prices.ts'
import { readScenario } from '../simulator/external/scenario.ts'
import { SimulatedSources } from '../simulator/external/simulated-sources.ts'
import { seededBuilderDexes } from '../simulator/market/builder-dexes.ts'
import { candleReplayMarket } from '../simulator/market/candle-replay-market.ts'
import { tapesOfFrames } from '../simulator/market/frame-tape.ts'
import type { Market } from '../simulator/market/market.ts'
import { readTapes } from '../simulator/market/recorded-tape.ts'
import { recordingMarket } from '../simulator/market/recording-market.ts'
import { seededMarket } from '../simulator/market/seeded-market.ts'
import { Dexes } from '../simulator/venue/dexes.ts'
import type { ScriptedFault } from '../simulator/venue/fault-script.ts'
import { checkCoins, readFaultScript, runFaultScript } from '../simulator/venue/fault-script.ts'
import { limitsFor, venueLimits } from '../simulator/venue/limits.ts'
import { startSimulatedVenue } from '../simulator/venue/simulated-venue.ts'
import { listeningOn } from './listening-on.ts'
import { writeSimulatedPast } from './simulated-past.ts'
import { scaledClock, systemClock } from './system-clock.ts'

/** `perpscope simulate`: the simulated upstreams on loopback. First line: their URLs, as JSON. */
export async function simulate(
  options: SimulateOptions,
  write: (line: string) => void,
): Promise<void> {
  const startMs = options.startMs ?? systemClock.nowMs()
  const market = marketOf(options, startMs)
  const builders = seededBuilderDexes({ seed: options.seed, startMs })
  const dexes = new Dexes(market, builders, startMs)
  const faults = faultsOf(options, dexes)
  if (options.past !== undefined) writeSimulatedPast(market, options.past, startMs)
  // A given start waits for the preparation above, some seconds on a busy machine; the present has moved on.
  const clock = scaledClock(options.startMs ?? systemClock.nowMs(), options.speed)
  const scenario = options.world === undefined ? [] : readScenario(options.world, startMs)
  const prices = new ReferencePrices({ market, seed: options.seed, scenario })
  const external = new SimulatedSources(prices, clock)
  const starting = startSimulatedVenue({
    market,
    builders,
    external,
    clock,
    port: options.port,
    limits: {
      ...limitsFor(options.engines, venueLimits),
      restWeightPerMinute: options.weightPerMinute,
    },
  })
  const venue = await listeningOn('--port', starting)
  let chain: Awaited<ReturnType<typeof practiceChain>> | null
  try {
    chain = options.chain === undefined ? null : await practiceChain(options.chain)
  } catch (cause) {
    // An open venue would keep the process of a refused start alive.
    await venue.close()
    throw cause
  }
  const stopFaults = runFaultScript(faults, clock, ({ fault, text }) => {
    const beganAt = new Date(clock.nowMs()).toISOString()
    const outcome = venue.inject(fault) ? '' : ' had no target'
    process.stderr.write(`fault ${beganAt} ${text}${outcome}\n`)
  })
  closeWithGrace(async ({ err }) => {
    if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
    stopFaults()
    await venue.close()
    await chain?.close()
  })
  write(
    `${JSON.stringify({
      venue: {
        ws: venue.wsUrl,
        http: venue.httpUrl,
        seed: options.seed,
        start_ms: startMs,
        ...(venue.clockShiftMs === undefined ? {} : { clock_shift_ms: venue.clockShiftMs }),
      },
      ...(chain !== null && { chain: chain.shown }),
      ...Object.fromEntries(external.ids.map((id) => [id, `${venue.externalUrl}${id}`])),
    })}\n`,
  )
}

/** Starts a local Base, and writes keys that pay gas and buy to `folder`, for a service that is tried without money. */
async function practiceChain(folder: string) {
  mkdirSync(folder, { recursive: true })
  const { rpcUrl, accounts, close } = await startEvmChain({ clock: systemClock })
  const keyFile = (name: string, { privateKey }: { readonly privateKey: string }) => {
    const path = join(folder, name)
    writeFileSync(path, `${privateKey}\n`, { mode: 0o600 })
    return path
  }
  try {
    const shown = {
      rpc: rpcUrl,
      pay_to: accounts.merchant.address,
      gas_key_file: keyFile('gas.key', accounts.facilitator),
      wallet_key_file: keyFile('wallet.key', accounts.buyer),
    }
    return { shown, close }
  } catch (cause) {
    await close()
    throw cause
  }
}

function marketOf(
  { seed, coins, candles, recording, frames }: SimulateOptions,
  startMs: number,
): Market {
  const base =
    candles === undefined
      ? seededMarket({ seed, startMs, coins })
      : candleReplayMarket(candles, { seed, startMs })
  if (recording !== undefined) return recordingMarket(readTapes(recording), base, { startMs })
  if (frames === undefined) return base
  return recordingMarket(tapesOfFrames(recordedFrames(frames)), base, { startMs })
}

function faultsOf({ faults }: SimulateOptions, dexes: Dexes): readonly ScriptedFault[] {
  if (faults === undefined) return []
  const script = readFaultScript(faults)
  checkCoins(script, faults, dexes)
  return script
}
