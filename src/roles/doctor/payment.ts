import { pino } from 'pino'
import { checkServeOptions } from '../../config/check-serve.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { ServeOptions } from '../../config/serve.ts'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import type {
  Examination,
  HostedFacilitators,
} from '../../payment/facilitators/hosted-facilitators.ts'
import { hostedFacilitators, problemOf } from '../hosted-facilitators.ts'
import { processLogger } from '../logger.ts'
import { paymentMethods } from '../payment-methods.ts'
import { fail, ok, warn } from './finding.ts'

const WAYS = 'ways to pay'
const REACH_ADVICE = 'check the connection of this machine (DNS, firewall, proxy) and the URL'

/** Asks nodes and facilitators what `serve` asks before it sells, and every facilitator for its capabilities. */
export async function checkPayment(options: ServeOptions): Promise<readonly DoctorFinding[]> {
  if (options.payment === 'open' || options.role === 'engine') return []
  const hosted = hostedFacilitators(
    options,
    await processLogger({ logLevel: 'silent', logFormat: 'json' }),
  )
  const ways = await checkWays(options, hosted)
  if (hosted === null) return ways
  const examinations = await hosted.examine()
  const spare = examinations.some(({ state }) => state === 'up')
  return [...ways, ...examinations.map((examination) => facilitatorFinding(examination, spare))]
}

/** Checks chains, tokens, payees and gas; nothing if the options alone keep `serve` from starting. */
async function checkWays(
  options: ServeOptions,
  hosted: HostedFacilitators | null,
): Promise<readonly DoctorFinding[]> {
  const warnings: string[] = []
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => warnings.push((JSON.parse(line) as { msg: string }).msg) },
  )
  try {
    checkServeOptions(options)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    // The check `configuration` reports it; the facilitators are asked nevertheless.
    return []
  }
  try {
    const { methods } = await paymentMethods(options, log, hosted)
    if (warnings.length > 0)
      return [
        warn(WAYS, warnings.join('; '), 'serve starts nevertheless: correct it before you sell'),
      ]
    return [ok(WAYS, methods.map(({ scheme, network }) => `${scheme} on ${network}`).join(', '))]
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const problems = cause.message.split('\n').join('; ')
    return [fail(WAYS, problems, 'serve would not start: see perpscope serve --help')]
  }
}

function facilitatorFinding(examination: Examination, spare: boolean): DoctorFinding {
  const { name, state, can, lastError } = examination
  const check = `facilitator ${name}`
  const problem = problemOf(examination)
  if (problem !== null)
    return fail(
      check,
      problem,
      'serve would not start: remove this facilitator, or sell on another network',
    )
  if (state === 'refusing')
    return fail(
      check,
      `rejects our authorization: ${lastError?.reason}`,
      'give the right --facilitator-auth',
    )
  if (can === null) {
    const found = `does not name what it supports: ${lastError?.reason}`
    return spare ? warn(check, found, REACH_ADVICE) : fail(check, found, REACH_ADVICE)
  }
  const kinds = can.map(({ scheme, network }) => `${scheme} on ${network}`)
  return ok(check, kinds.length === 0 ? 'answers' : `supports ${kinds.join(', ')}`)
}
