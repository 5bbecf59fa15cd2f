import { request } from 'undici'
import type { Finding } from './finding.ts'
import { ok, warn } from './finding.ts'

const CHECK = 'service'
const ANSWER_MS_MAX = 2_000

type Readiness = { readonly ready: boolean; readonly reasons: readonly string[] }

/** Asks the service on this machine, if one runs. `hasFiles`: somebody holds the files of the data directory. */
export async function checkService(adminPort: number, hasFiles: boolean): Promise<Finding> {
  const readiness = await readinessAt(adminPort)
  if (readiness === null) {
    return hasFiles
      ? warn(
          CHECK,
          `the data directory is in use, but nothing answers on admin port ${adminPort}`,
          'give the --admin-port of the service that runs, or see whether it hangs',
        )
      : ok(CHECK, `none runs with admin port ${adminPort}`)
  }
  if (readiness.ready) return ok(CHECK, `runs, ready (admin port ${adminPort})`)
  return warn(
    CHECK,
    `runs, not ready: ${readiness.reasons.join(', ')} (admin port ${adminPort})`,
    'it warms up for some minutes after a first start; else its log says why',
  )
}

/** null where nobody answers, or somebody else. */
async function readinessAt(adminPort: number): Promise<Readiness | null> {
  try {
    const { body } = await request(`http://127.0.0.1:${adminPort}/readyz`, {
      headersTimeout: ANSWER_MS_MAX,
      bodyTimeout: ANSWER_MS_MAX,
    })
    const answer: unknown = await body.json()
    return isReadiness(answer) ? answer : null
  } catch {
    return null
  }
}

function isReadiness(answer: unknown): answer is Readiness {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    'ready' in answer &&
    typeof answer.ready === 'boolean' &&
    'reasons' in answer &&
    Array.isArray(answer.reasons)
  )
}
