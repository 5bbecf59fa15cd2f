import { requestReader } from '../api/analysis-request.ts'
import type { Selection } from '../api/answer-selection.ts'
import type { FillFacts } from '../api/fill-document.ts'
import { fillDocument } from '../api/fill-document.ts'
import { loadBearingAgeMs } from '../api/freshness.ts'
import { contracts } from '../compute/analyses/registry.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { keyOf } from '../domain/contract.ts'
import type { Answer, Document } from '../domain/document.ts'
import { viewOf } from '../domain/document.ts'
import type { Recorded } from '../engine/recording.ts'
import { Replay } from '../engine/replay.ts'
import type { AnswerFile } from '../proof/answer-file.ts'
import { answerText } from '../proof/answer-file.ts'
import type { CheckStep } from '../proof/check-answer.ts'
import { coinOf, signedUrl, step } from '../proof/check-answer.ts'
import { readFrameLog } from '../store/frame-log-reader.ts'

/** What an answer says about itself. */
type Meta = {
  readonly answer_id?: unknown
  readonly data_age_seconds?: unknown
  readonly execution_ms?: unknown
  readonly warnings?: unknown
}

type Call = {
  readonly contract: AnalysisContract
  /** '' for the whole market. */
  readonly ticker: string
  readonly view: string
  readonly selection: Selection | null
}

const open = (text: string) => step('recomputed', 'open', text)

/**
 * Computes an answer again from a recording of the service, and compares it byte by byte. The moment of sending, on
 * which ages depend, is taken from the answer; everything else comes from the recorded market data.
 * @throws OperatingError if the file is no recording
 */
export function recomputedStep(file: AnswerFile, recordingPath: string): CheckStep {
  const path = pathOf(file)
  const call = path === null ? null : callOf(path)
  if (call === null) return open('The file and its receipt do not name the call.')
  const meta = (file.answer['meta'] ?? {}) as Meta
  const [, version] = /^ans_([0-9a-z]+)_/.exec(String(meta.answer_id)) ?? []
  if (version === undefined || typeof meta.data_age_seconds !== 'number')
    return open('The answer has no meta.answer_id and meta.data_age_seconds: select them, or all.')
  const document = documentOf(call, Number.parseInt(version, 36), recordingPath)
  const answer = document && viewOf(document, call.view)
  if (document === null || answer?.kind !== 'answer')
    return open(`The recording has no rendering ${meta.answer_id} of ${path}.`)
  const facts = {
    ...factsOf(document, answer, meta, meta.data_age_seconds),
    coinsAvailable: Number(memberOf(file.answer, 'coins_available')),
    requested: requestedOf(file),
  }
  const text = fillDocument(document, answer, facts, call.selection).toString('utf8')
  const differsAt = firstDifference(text, answerText(file))
  if (differsAt === null)
    return step(
      'recomputed',
      'holds',
      `Computed again from the recording it is the same, all ${text.length} characters.`,
    )
  const around = (whole: string) =>
    JSON.stringify(whole.slice(Math.max(0, differsAt - 40), differsAt + 20))
  return step(
    'recomputed',
    'fails',
    `Computed again from the recording it differs at character ${differsAt}: ${around(text)}, not ${around(answerText(file))}.`,
  )
}

function pathOf(file: AnswerFile): string | null {
  const url = URL.parse(signedUrl(file) ?? '')
  return url === null ? file.path : url.pathname + url.search
}

function callOf(path: string): Call | null {
  const url = URL.parse(path, 'http://service')
  if (url === null) return null
  const { pathname, searchParams } = url
  // Behind the path of the public URL, if that has one. The service ignores a slash at the end.
  const [before, last] = pathname.replace(/\/$/, '').split('/').slice(-2)
  const contract =
    contracts.find(({ id, scope }) => scope === 'coin' && id === before) ??
    contracts.find(({ id }) => id === last)
  if (contract === undefined) return null
  const asked = requestReader(contract)({
    params: { coin: coinOf(pathname) },
    query: Object.fromEntries(searchParams),
  })
  if (asked.kind === 'refusal') return null
  const { ticker, view, selection } = asked
  return { contract, ticker, view, selection }
}

/** The rendering of this version; null if the recording does not contain it. */
function documentOf({ contract, ticker }: Call, version: number, path: string): Document | null {
  const replayed = new Replay()
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') {
      replayed.noteLoss()
      continue
    }
    // Title and checksum prove that a recorder of this format wrote them.
    for (const recorded of piece.values as readonly Recorded[]) {
      replayed.process(recorded)
      const coin = ticker === '' ? '' : replayed.replica.resolve(ticker)?.coin
      if (coin === undefined) continue
      const document = replayed.replica.document(keyOf(contract, coin))
      if (document?.version === version) return document
      if (document !== undefined && document.version > version) return null
    }
  }
  return null
}

function factsOf(document: Document, answer: Answer, meta: Meta, ageSeconds: number) {
  const laterMs = document.renderedAtMs + 86_400_000
  const oldestMs = laterMs - loadBearingAgeMs(document, answer, laterMs)
  return {
    nowMs: oldestMs + Math.round(ageSeconds * 1_000),
    executionMs: Number(meta.execution_ms ?? 0),
    isClockOff: Array.isArray(meta.warnings) && meta.warnings.includes('clock_off'),
  }
}

/** The caller named the unscaled token of a coin that is quoted in thousands. */
function requestedOf({ answer }: AnswerFile): FillFacts['requested'] {
  const ticker = answer['requested_coin'] ?? answer['requested_token']
  if (ticker === undefined) return undefined
  return { ticker: String(ticker), unitMultiplier: Number(answer['unit_multiplier']) }
}

/** A member of this name, also of a component of a bundle; undefined for none. */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, member] of Object.entries(value)) {
    const found = key === name ? member : memberOf(member, name)
    if (found !== undefined) return found
  }
  return undefined
}

function firstDifference(a: string, b: string): number | null {
  if (a === b) return null
  let at = 0
  while (a[at] === b[at]) at += 1
  return at
}
