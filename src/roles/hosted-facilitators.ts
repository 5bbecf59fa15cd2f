import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { readGauges } from '../api/metrics/read-gauge.ts'
import { ConfigError } from '../config/config-error.ts'
import type { FacilitatorOptions } from '../config/payment.ts'
import type { Examination, FacilitatorChange } from '../payment/facilitators/hosted-facilitators.ts'
import { HostedFacilitators } from '../payment/facilitators/hosted-facilitators.ts'
import { systemClock } from './system-clock.ts'

/** The facilitators of `--facilitator-url`; null without one. */
export function hostedFacilitators(
  options: FacilitatorOptions,
  log: Logger,
): HostedFacilitators | null {
  const { facilitatorUrl: urls = [], facilitatorAuth: values = [] } = options
  if (urls.length === 0) return null
  return new HostedFacilitators({
    addresses: urls.map((url, at) => {
      const authorization = values.length === 1 ? values[0] : values[at]
      return { url, ...(authorization ? { authorization } : {}) }
    }),
    clock: systemClock,
    chance: Math.random,
    onNotice: (notice) => logFacilitator(log, notice),
  })
}

/**
 * Asks every facilitator for its capabilities. A facilitator that is down does not refuse the start.
 * @throws ConfigError if one answers and does not support what is sold
 */
export async function examineFacilitators(hosted: HostedFacilitators): Promise<void> {
  const examinations = await hosted.examine()
  const problems = examinations.flatMap((examination) => problemOf(examination) ?? [])
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
}

/** Why a facilitator cannot settle what is sold; null if it can, or does not answer. */
export function problemOf({ name, can, cannot }: Examination): string | null {
  if (can === null || can.length > 0 || cannot.length === 0) return null
  const kinds = cannot.map(({ scheme, network }) => `${scheme} on ${network}`).join(', ')
  return `the facilitator ${name} (--facilitator-url) answers and does not support ${kinds} in x402 version 2`
}

export function measureFacilitators(hosted: HostedFacilitators, metrics: Registry): void {
  readGauges(
    metrics,
    'perpscope_facilitator_up',
    'Whether payments are sent to a facilitator: 1, or 0 while it is down, rejects our authorization or does not support what is sold.',
    'facilitator',
    () =>
      hosted
        .reports()
        .map(({ name, state }) => [name, state === 'up' || state === 'untried' ? 1 : 0]),
  )
  readGauges(
    metrics,
    'perpscope_facilitator_in_use',
    'Whether a facilitator is the most preferred of those that are up.',
    'facilitator',
    () => hosted.reports().map(({ name, isInUse }) => [name, isInUse ? 1 : 0]),
  )
}

/** A rejected authorization is an error of configuration, so it has the highest level. */
function logFacilitator(log: Logger, { name, ...change }: FacilitatorChange): void {
  // `name` of a line is the process.
  const notice = { facilitator: name, ...change }
  switch (notice.state) {
    case 'refusing':
      log.error(notice, 'the facilitator rejects our authorization: see --facilitator-auth')
      return
    case 'unfit':
      log.error(notice, 'the facilitator no longer supports what is sold')
      return
    case 'down':
      log.warn(notice, 'the facilitator is out of service')
      return
    default:
      log.info(notice, 'the facilitator is in service')
  }
}
