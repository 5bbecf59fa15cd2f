import { ledgerProblems } from '../config/check-ledger.ts'
import { ConfigError } from '../config/config-error.ts'
import type { MAINTENANCE_COMMANDS, MaintenanceOptions } from '../config/maintenance.ts'
import type { AdminOptions } from '../config/option.ts'
import { OperatingError } from '../domain/errors.ts'
import { isoInstant } from '../domain/instant.ts'
import { Postgres } from '../payment/ledger/postgres.ts'
import { migrateTables } from '../payment/ledger/postgres-schema.ts'
import {
  maintenanceTables,
  readMaintenance,
  writeMaintenance,
} from '../payment/shared-maintenance.ts'
import { adminRequest, adminUrl } from './admin-client.ts'
import { systemClock } from './system-clock.ts'

const TIMEOUT_MS = 5_000

/** `perpscope maintenance on|off|status`: of the service on this machine, or of all gateways of a ledger. */
export async function maintenanceCommand(
  command: (typeof MAINTENANCE_COMMANDS)[number],
  options: MaintenanceOptions,
): Promise<string> {
  const { ledger } = options
  if (command === 'status')
    return ledger === undefined ? statusOf(await asked(options)) : sharedStatus(ledger)
  const isOn = command === 'on'
  if (ledger === undefined) await asked(options, { on: isOn })
  else await inPostgres(ledger, (db) => writeMaintenance(db, isOn, systemClock.nowMs()))
  return isOn
    ? 'maintenance mode is on: paid paths answer 503 until you turn it off'
    : 'maintenance mode is off: the service sells again'
}

/** Sends a request to the running service. @returns its state after it */
async function asked(
  options: AdminOptions,
  body?: { readonly on: boolean },
): Promise<{ readonly on: boolean; readonly since_iso: string }> {
  try {
    const { status, text } = await adminRequest(options, '/maintenance', {
      msMax: TIMEOUT_MS,
      ...(body !== undefined && { body }),
    })
    if (status !== 200)
      throw new OperatingError('maintenance', `${adminUrl(options)}/maintenance: ${status} ${text}`)
    return JSON.parse(text) as { on: boolean; since_iso: string }
  } catch (cause) {
    if (cause instanceof OperatingError || cause instanceof ConfigError) throw cause
    throw new OperatingError(
      'maintenance',
      `admin port ${options.adminPort} gave no valid answer; is the service running, and is --admin-port the same?`,
      { cause },
    )
  }
}

async function sharedStatus(ledger: string): Promise<string> {
  const { isOn, sinceMs } = await inPostgres(ledger, readMaintenance)
  return sinceMs === null
    ? 'maintenance mode is off and was never on'
    : statusOf({ on: isOn, since_iso: isoInstant(sinceMs) })
}

function statusOf({ on, since_iso }: { readonly on: boolean; readonly since_iso: string }): string {
  return `maintenance mode is ${on ? 'on' : 'off'} since ${since_iso}`
}

async function inPostgres<Result>(
  url: string,
  work: (db: Postgres) => Promise<Result>,
): Promise<Result> {
  const problems = ledgerProblems(url)
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  const db = new Postgres({ url, applicationName: 'perpscope maintenance' })
  try {
    await migrateTables(db, maintenanceTables)
    return await work(db)
  } finally {
    await db.close()
  }
}
