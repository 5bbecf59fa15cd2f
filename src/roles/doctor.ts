import type { DoctorOptions } from '../config/doctor.ts'
import type { SettingFile } from '../config/settings-command.ts'
import { isDataDirLocked } from '../store/data-dir.ts'
import { checkBroker } from './doctor/broker.ts'
import type { Check } from './doctor/checks.ts'
import { findingsOf } from './doctor/checks.ts'
import { checkExternal } from './doctor/external.ts'
import {
  checkChannels,
  checkCheckpoint,
  checkDataDir,
  checkDocuments,
  checkHistory,
  checkLedger,
  checkSetAside,
} from './doctor/files.ts'
import { checkPayment } from './doctor/payment.ts'
import { checkPorts } from './doctor/ports.ts'
import { checkRecording } from './doctor/recording.ts'
import type { Terminal } from './doctor/report.ts'
import { rendered } from './doctor/report.ts'
import { checkSecretFiles } from './doctor/secret-files.ts'
import { checkService, checkStore, readinessAt } from './doctor/service.ts'
import { checkSettings, payeeFinding } from './doctor/settings.ts'
import { checkSharedLedger } from './doctor/shared-ledger.ts'
import { checkVenue } from './doctor/venue.ts'
import { externalAddresses } from './external-source.ts'
import { checkSqlite } from './sqlite-binding.ts'
import { systemClock } from './system-clock.ts'
import { systemRuntime } from './system-runtime.ts'
import { terminalSpinner } from './terminal-spinner.ts'
import { marketOf, venueOf } from './venue-source.ts'

/**
 * `perpscope doctor`: checks what `serve` needs with the same options. It changes nothing and does not disturb a
 * running service.
 * @param files that the options were read from
 * @returns whether no check failed
 */
export async function doctor(
  options: DoctorOptions,
  terminal: Terminal,
  write: (text: string) => void,
  files: readonly SettingFile[] = [],
): Promise<boolean> {
  const { dataDir, paymentChannels, source, weightPerMinute } = options
  const isOpen = options.payment === 'open'
  const hasEngine = options.role !== 'gateway'
  const sells = !isOpen && options.role !== 'engine'
  const ofEngine = (check: () => ReturnType<Check[1]>) => () => (hasEngine ? check() : null)
  const isLocked = isDataDirLocked(dataDir)
  // A service that answers is another one, because an engine locks its data directory.
  const isOther = hasEngine && !isLocked
  const sqlite = checkSqlite()
  // The venue and the sources take some ten seconds.
  const waiting = terminalSpinner(process.stderr)?.start('checking the venue and every source')
  // Once, because a service that hangs answers no check.
  const readiness = await readinessAt(options)
  const databases: readonly Check[] = [
    ['checkpoint', ofEngine(() => checkCheckpoint(dataDir, systemClock.nowMs()))],
    ['history', ofEngine(() => checkHistory(dataDir))],
    ['documents', ofEngine(() => checkDocuments(dataDir, systemClock.nowMs()))],
    ['ledger', () => (sells ? ledgerFinding(options) : null)],
    ['payment channels', () => checkChannels(dataDir, sells && paymentChannels === 'on')],
  ]
  const checks: readonly Check[] = [
    ['configuration', () => checkSettings(options)],
    ['secret files', () => checkSecretFiles(files, options.adminTokenFile)],
    ['payee', () => payeeFinding(options)],
    ['data directory', () => checkDataDir(dataDir, marketOf(source))],
    ['service', () => checkService(options, readiness, isLocked, isOther)],
    ['ports', () => checkPorts(options, readiness !== null, isOther)],
    // Without SQLite every file would seem damaged.
    ...(sqlite === null ? databases : [['SQLite', () => sqlite] satisfies Check]),
    ['recording', () => checkRecording(options)],
    ['history at work', () => (readiness === null || isOther ? [] : checkStore(options))],
    ['files set aside', () => checkSetAside(dataDir)],
    ['broker', () => checkBroker(options.broker)],
    ['ways to pay', () => checkPayment(options)],
    ['venue', ofEngine(() => checkVenue(venueOf(source), systemClock, weightPerMinute))],
    [
      'sources',
      ofEngine(() =>
        options.outside === 'off'
          ? null
          : checkExternal(externalAddresses(options), systemRuntime(systemClock)),
      ),
    ],
  ]
  const findings = await findingsOf(checks)
  waiting?.stop()
  const isWell = findings.every(({ status }) => status !== 'fail')
  write(
    options.json
      ? `${JSON.stringify({ ok: isWell, checks: findings })}\n`
      : rendered(findings, terminal),
  )
  return isWell
}

function ledgerFinding({ ledger, dataDir }: DoctorOptions) {
  return ledger === undefined ? checkLedger(dataDir) : checkSharedLedger(ledger)
}
