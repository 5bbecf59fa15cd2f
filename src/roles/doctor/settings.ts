import { checkServeOptions } from '../../config/check-serve.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { PaymentSettings } from '../../config/payment.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import { adminTokenOf } from '../admin-token.ts'
import { fail, ok } from './finding.ts'

const CHECK = 'configuration'

/** Summarises what `serve` would do with the same options. Keys, and URLs that may contain one, are not shown. */
export function checkSettings(options: ServeOptions): DoctorFinding {
  try {
    checkServeOptions(options)
    adminTokenOf(options)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const problems = cause.message.split('\n').join('; ')
    return fail(
      CHECK,
      `serve would not start: ${problems}`,
      'give doctor the same options as serve',
    )
  }
  const { source, host, port, adminHost, adminPort, weightPerMinute } = options
  return ok(
    CHECK,
    [
      `source ${source}`,
      `public ${host}:${port}`,
      `admin ${adminHost}:${adminPort}`,
      `weight ${weightPerMinute} a minute`,
      ...(options.broker === undefined ? [] : [`broker ${hostOf(options.broker)}`]),
      options.role === 'engine'
        ? 'sells nothing (--role engine)'
        : options.payment === 'open'
          ? 'payment open, all answers are free'
          : payment(options),
    ].join(', '),
  )
}

/** Whether another service has the same payee cannot be checked here. */
export function payeeFinding({
  payment: mode,
  payTo,
  solanaPayTo,
}: PaymentSettings): DoctorFinding | null {
  if (mode === 'open' || payTo === undefined) return null
  const payees = [payTo, ...(solanaPayTo === undefined ? [] : [solanaPayTo])].join(' and ')
  return ok(
    'payee',
    `${payees}; use it for this service only: a payment to it can be presented at any other service with the same payee`,
  )
}

function payment(options: PaymentSettings): string {
  const { network, payTo, facilitatorUrl, facilitatorAuth, rpcUrl, facilitatorKey } = options
  const parts = [`payment x402 on ${network} to ${payTo}`]
  if (options.ledger !== undefined) parts.push(`ledger ${hostOf(options.ledger)}`)
  for (const url of facilitatorUrl ?? []) parts.push(`facilitator ${originOf(url)}`)
  if (facilitatorAuth !== undefined) parts.push('its authorization set')
  if (rpcUrl !== undefined) parts.push(`node ${originOf(rpcUrl)}`)
  if (facilitatorKey !== undefined) parts.push('key set')
  parts.push(...onSolana(options))
  return parts.join(', ')
}

function onSolana({ solanaNetwork, solanaPayTo, solanaRpcUrl, ...rest }: PaymentSettings) {
  if (solanaPayTo === undefined) return []
  const parts = [`on Solana ${solanaNetwork} to ${solanaPayTo}`]
  if (solanaRpcUrl !== undefined) parts.push(`node ${originOf(solanaRpcUrl)}`)
  if (rest.solanaFacilitatorKey !== undefined) parts.push('key set')
  return parts
}

/** Without user and password. */
function hostOf(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

/** A path or a query may hold a provider's key. */
function originOf(url: string): string {
  return new URL(url).origin
}
