import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import type { AnalysisContract, DocumentContract } from '../../domain/contract.ts'
import { keyOf } from '../../domain/contract.ts'
import { viewOf } from '../../domain/document.ts'
import { percentDecoded } from '../../domain/percent-decoded.ts'
import { isRetryable } from '../../domain/problem.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { FoundAnswer } from '../analysis-call.ts'
import { callReader, findAnswer } from '../analysis-call.ts'
import { engineRefusal } from '../analysis-refusals.ts'
import type { CallParts } from '../analysis-request.ts'
import { fillDocument } from '../fill-document.ts'
import { freshness } from '../freshness.ts'
import type { Refusal } from '../send-problem.ts'
import { refusal } from '../send-problem.ts'
import type { LiveDocument, LiveSource, LiveVersion } from './live-source.ts'
import { refusedVersion } from './live-source.ts'

export type LiveDocumentsOptions = {
  readonly contracts: readonly AnalysisContract[]
  /** Of documents that the engine renders for charts and that are not sold. */
  readonly charts: readonly DocumentContract[]
  readonly engine: EngineReader
  readonly clock: Clock
  readonly isClockOff: () => boolean
}

type LiveCall = CallParts & Pick<FastifyRequest, 'headers'>

/** Every document of the engine, as a buyer would get it at this moment. */
export class LiveDocuments implements LiveSource {
  readonly #options: LiveDocumentsOptions
  readonly #read: ReadonlyMap<string, (parts: LiveCall) => LiveDocument | Refusal>

  constructor(options: LiveDocumentsOptions) {
    this.#options = options
    const { contracts, charts } = options
    this.#read = new Map([
      ...contracts.map((contract) => [contract.id, this.#ofAnalysis(contract)] as const),
      ...charts.map((chart) => [chart.id, this.#ofChart(chart)] as const),
    ])
  }

  open(name: string): LiveDocument | Refusal {
    const url = URL.parse(name, 'http://localhost')
    const [id = '', coin = '', ...more] = url?.pathname.slice(1).split('/') ?? []
    const read = more.length === 0 ? this.#read.get(id) : undefined
    if (url === null || read === undefined)
      return refusal('not_found', { detail: 'No document has this name.', param: 'document' })
    return read({
      query: Object.fromEntries(url.searchParams),
      params: { coin: percentDecoded(coin) },
      headers: {},
    })
  }

  #ofAnalysis(contract: AnalysisContract) {
    const { engine, clock } = this.#options
    const read = wholeReader(
      contract,
      callReader(contract, { engine, exampleCoin: '', isFree: true }),
    )
    return (parts: LiveCall): LiveDocument | Refusal => {
      const call = read(parts, clock.nowMs())
      if (call.kind === 'refusal' && !isRetryable(call.code)) return call
      return {
        kind: 'document',
        newest: () => {
          const nowMs = clock.nowMs()
          // Read again, because an engine that was away or starting did not know the coin.
          const asked = call.kind === 'refusal' ? read(parts, nowMs) : call
          const found =
            asked.kind === 'refusal' ? asked : findAnswer(contract, asked, engine, nowMs)
          return found.kind === 'refusal'
            ? refusedVersion(found, nowMs)
            : this.#filled(found, nowMs)
        },
      }
    }
  }

  #ofChart(contract: DocumentContract) {
    const { engine, clock } = this.#options
    return ({ params }: LiveCall): LiveDocument => {
      const { coin } = params as { readonly coin: string }
      return {
        kind: 'document',
        newest: () => {
          const nowMs = clock.nowMs()
          const away = engineRefusal(engine, nowMs)
          if (away !== null) return refusedVersion(away, nowMs)
          const document = engine.document(keyOf(contract, engine.resolve(coin)?.coin ?? coin))
          const answer = document && viewOf(document, contract.defaultView)
          if (document === undefined || answer?.kind !== 'answer') return null
          return this.#filled({ kind: 'found', document, answer }, nowMs)
        },
      }
    }
  }

  #filled({ document, answer }: FoundAnswer, nowMs: number): LiveVersion {
    const { engine } = this.#options
    const coinsAvailable = engine.coins().length
    const isClockOff = this.#options.isClockOff()
    const { grade, warnings } = freshness(document, answer, nowMs, isClockOff)
    return {
      // Grade and warnings change with time alone.
      version: [document.version, grade, ...warnings].join('-'),
      atMs: nowMs,
      // The pieces are kept with the document, so a version that every page has costs a look-up.
      get body() {
        const facts = { nowMs, executionMs: 0, coinsAvailable, isClockOff }
        return { answer: fillDocument(document, answer, facts).toString() }
      },
    }
  }
}

/** Adds `view=all`, which no buyer can call. */
function wholeReader({ wholeView }: AnalysisContract, read: ReturnType<typeof callReader>) {
  if (wholeView === undefined) return read
  return (parts: LiveCall, nowMs: number) => {
    const { view, ...others } = parts.query as Readonly<Record<string, unknown>>
    if (view !== 'all') return read(parts, nowMs)
    const call = read({ ...parts, query: others }, nowMs)
    return call.kind === 'refusal' ? call : { ...call, view: wholeView }
  }
}
