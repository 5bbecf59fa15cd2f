import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { AnswerProofs } from '../../domain/answer-proof.ts'
import { reasonOf } from '../../domain/errors.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import { ProofLog } from '../../store/proof-log.ts'
import type { ServicePart } from './running-service.ts'

type Proofs = ServicePart & {
  readonly proofs: AnswerProofs
  readonly onSold: (body: Uint8Array) => void
}

/** The log of sold answers of this process. A sale does not depend on it: its receipt proves it as well. */
export function openProofs(dataDir: string, clock: SteadyClock, log: Logger): Proofs {
  const proofs = new ProofLog(join(dataDir, 'proofs.db'), clock.nowMs())
  if (proofs.setAside !== null)
    log.warn({ setAside: proofs.setAside }, 'the proof log was damaged; a new one is begun')
  return {
    proofs,
    onSold: (body) => {
      try {
        proofs.add(hash('sha256', body, 'buffer'), clock.nowMs())
      } catch (cause) {
        log.warn({ reason: reasonOf(cause) }, 'a sold answer is missing in the proof log')
      }
    },
    stop: () => proofs.close(),
  }
}
