import ora from 'ora'
import type { DoctorOptions } from '../config/doctor.ts'
import {
  checkChannels,
  checkCheckpoint,
  checkDataDir,
  checkDocuments,
  checkHistory,
  checkLedger,
  checkSetAside,
  isInUse,
} from './doctor/files.ts'
import { checkOutside } from './doctor/outside.ts'
import { checkPayment } from './doctor/payment.ts'
import type { Terminal } from './doctor/report.ts'
import { rendered } from './doctor/report.ts'
import { checkService, checkStore } from './doctor/service.ts'
import { checkSettings } from './doctor/settings.ts'
import { checkVenue } from './doctor/venue.ts'
import { outsideOf } from './outside-source.ts'
import { systemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'
import { marketOf, venueOf } from './venue-source.ts'

/**
 * `perpscope doctor`: what `serve` needs with the same options, one line a check. It changes nothing and
 * takes nothing from a service that runs. @returns whether nothing failed
 */
export async function doctor(
  options: DoctorOptions,
  terminal: Terminal,
  write: (text: string) => void,
): Promise<boolean> {
  const { dataDir, adminPort, paymentChannels, source, weightPerMinute } = options
  const setAside = checkSetAside(dataDir)
  const store = await checkStore(adminPort)
  const channels = checkChannels(dataDir, options.payment !== 'open' && paymentChannels === 'on')
  // Only on a terminal; the venue and the sources take some ten seconds.
  const waiting = ora({ stream: process.stderr, isEnabled: process.stderr.isTTY })
  if (process.stderr.isTTY) waiting.start('asking the venue, listening to every source')
  const findings = [
    checkSettings(options),
    checkDataDir(dataDir, marketOf(source)),
    await checkService(adminPort, isInUse(dataDir)),
    checkCheckpoint(dataDir, systemClock.nowMs()),
    checkHistory(dataDir),
    checkDocuments(dataDir, systemClock.nowMs()),
    ...(options.payment === 'open' ? [] : [checkLedger(dataDir)]),
    ...(channels === null ? [] : [channels]),
    ...(store === null ? [] : [store]),
    ...(setAside === null ? [] : [setAside]),
    ...(await checkPayment(options)),
    ...(await checkVenue(venueOf(source), systemClock, weightPerMinute)),
    ...(options.outside === 'off'
      ? []
      : await checkOutside(outsideOf(options), systemRuntime(systemClock))),
  ]
  waiting.stop()
  const isWell = findings.every(({ status }) => status !== 'fail')
  write(
    options.json
      ? `${JSON.stringify({ ok: isWell, checks: findings })}\n`
      : rendered(findings, terminal),
  )
  return isWell
}
