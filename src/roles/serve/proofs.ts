import { hash } from 'node:crypto'
import type { Logger } from 'pino'
import { fillDocument } from '../../api/fill-document.ts'
import { madeClaimsContract } from '../../compute/track-record/made-claims.ts'
import type { AnswerProofs, ProofLog } from '../../domain/answer-proof.ts'
import { keyOf } from '../../domain/contract.ts'
import { viewOf, WHOLE_MARKET } from '../../domain/document.ts'
import { reasonOf } from '../../domain/errors.ts'
import { PendingLeaves } from '../../domain/pending-leaves.ts'
import type { SteadyClock } from '../../domain/steady-clock.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { ServicePart } from './running-service.ts'

type Proofs = ServicePart & {
  readonly proofs: AnswerProofs
  readonly onSold: (body: Uint8Array) => void
}

/** New claims are rendered every minute, and an hour is sealed within this time. */
const PERIOD_MS = 15_000

/** Keeps the log of sold answers and claims. A sale does not depend on it: its receipt proves it as well. */
export function keepProofs(
  store: ProofLog,
  engine: EngineReader,
  { clock, log }: { readonly clock: SteadyClock; readonly log: Logger },
): Proofs {
  const warn = (cause: unknown) =>
    log.warn(
      { reason: reasonOf(cause), dropped: leaves.dropped },
      'the proof log cannot be written; the newest leaves are kept',
    )
  const leaves = new PendingLeaves(store, warn)
  let known: ReadonlySet<string> = new Set()
  const addClaims = () => {
    const made = madeClaims(engine)
    leaves.add(
      'claim',
      made.filter((digest) => !known.has(digest)).map((digest) => Buffer.from(digest, 'base64url')),
    )
    known = new Set(made)
  }
  let sealing: Promise<void> | null = null
  const seal = () => {
    sealing ??= store
      .seal()
      .catch(warn)
      .finally(() => {
        sealing = null
      })
  }
  let stopTimer = () => {}
  return {
    proofs: store,
    onSold: (body) => leaves.add('answer', [hash('sha256', body, 'buffer')]),
    start: () => {
      seal()
      stopTimer = clock.every(PERIOD_MS, () => {
        addClaims()
        seal()
      })
    },
    stop: async () => {
      stopTimer()
      await leaves.written()
      await sealing
    },
  }
}

/** SHA-256 of the newest claims, as the engine has rendered them. */
function madeClaims(engine: EngineReader): readonly string[] {
  const document = engine.document(keyOf(madeClaimsContract, WHOLE_MARKET))
  const answer = document && viewOf(document, madeClaimsContract.defaultView)
  if (document === undefined || answer?.kind !== 'answer') return []
  const facts = { nowMs: document.renderedAtMs, executionMs: 0, coinsAvailable: 0 }
  const { sha256 } = JSON.parse(fillDocument(document, answer, facts).toString('utf8')) as {
    readonly sha256: readonly string[]
  }
  return sha256
}
