import { ConfigError } from '../../config/config-error.ts'
import type { DoctorOptions } from '../../config/doctor.ts'
import { checkServeOptions } from '../../config/serve.ts'
import type { Examination } from '../../payment/facilitators/hosted-facilitators.ts'
import { hostedFacilitators, problemOf } from '../hosted-facilitators.ts'
import { processLogger } from '../logger.ts'
import { paymentMethods } from '../payment-methods.ts'
import type { Finding } from './finding.ts'
import { fail, ok, warn } from './finding.ts'

const REACH_ADVICE = 'see whether this machine reaches it (DNS, firewall, proxy), and its URL'

/** Asks every facilitator what it can do, as `serve` would before it sells anything. */
export async function checkFacilitators(options: DoctorOptions): Promise<readonly Finding[]> {
  const log = processLogger('silent')
  const hosted = options.payment === 'open' ? null : hostedFacilitators(options, log)
  if (hosted === null) return []
  try {
    checkServeOptions(options)
    await paymentMethods(options, log, hosted)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    // That nothing can be sold is told of the configuration; they are asked all the same.
  }
  const examinations = await hosted.examine()
  const spare = examinations.some(({ state }) => state === 'up')
  return examinations.map((examination) => findingOf(examination, spare))
}

function findingOf(examination: Examination, spare: boolean): Finding {
  const { name, state, can, lastError } = examination
  const check = `facilitator ${name}`
  const problem = problemOf(examination)
  if (problem !== null)
    return fail(check, problem, 'serve would not start: take it away, or sell by another network')
  if (state === 'refusing')
    return fail(check, `refuses us: ${lastError?.reason}`, 'give the right --facilitator-auth')
  if (can === null) {
    const found = `does not answer: ${lastError?.reason}`
    return spare ? warn(check, found, REACH_ADVICE) : fail(check, found, REACH_ADVICE)
  }
  const kinds = can.map(({ scheme, network }) => `${scheme} on ${network}`)
  return ok(check, kinds.length === 0 ? 'answers' : `supports ${kinds.join(', ')}`)
}
