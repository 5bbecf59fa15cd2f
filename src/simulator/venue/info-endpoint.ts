import { isRecord, parsedJson } from '../../domain/json.ts'
import { bits } from '../market/noise.ts'
import type { ActiveFaults } from './active-faults.ts'
import type { AddressUse } from './allowance.ts'
import type { Dexes } from './dexes.ts'
import { garbled } from './garble.ts'
import { answerInfo, infoWeight } from './info.ts'
import type { InfoAnswer, VenueInstant } from './info-answer.ts'

const TOO_MANY_REQUESTS = 'Too Many Requests'
const ERROR_PAGE = '<html><head><title>502 Bad Gateway</title></head></html>'
const MALFORMED = 'Failed to deserialize the JSON body into the target type'

export type HttpAnswer = {
  readonly status: number
  readonly body: string
  readonly isJson: boolean
}

/** Requests of both ways, HTTP and posts over the websocket, which share one allowance of weight. */
export class InfoEndpoint {
  readonly #dexes: Dexes
  readonly #faults: ActiveFaults
  readonly #view: () => VenueInstant
  #garbledCount = 0

  constructor(options: {
    readonly dexes: Dexes
    readonly faults: ActiveFaults
    readonly view: () => VenueInstant
  }) {
    this.#dexes = options.dexes
    this.#faults = options.faults
    this.#view = options.view
  }

  /** Answers the body of one `POST /info`; undefined while requests hang. */
  http(use: AddressUse, text: string, nowMs: number): HttpAnswer | undefined {
    const outage = this.#faults.restOutage
    if (outage === 'hang') return undefined
    if (outage === '500') return plainAnswer(500, 'Internal Server Error')
    const answer = this.#httpAnswer(use, text, nowMs)
    return outage === 'garbage' ? this.#garbage(answer) : answer
  }

  /** The `response` of one post. */
  post(use: AddressUse, request: unknown, nowMs: number): object {
    const { type, payload } = isRecord(request) ? request : {}
    if (type !== 'info' || !isRecord(payload)) return { type: 'error', payload: MALFORMED }
    const answer = this.#answer(use, payload, nowMs)
    if (answer === undefined) return { type: 'error', payload: `429 ${TOO_MANY_REQUESTS}` }
    if (answer.kind === 'malformed') return { type: 'error', payload: MALFORMED }
    const { type: infoType } = payload
    const data = answer.kind === 'data' ? answer.data : null
    return { type: 'info', payload: { type: infoType, data } }
  }

  #httpAnswer(use: AddressUse, text: string, nowMs: number): HttpAnswer {
    const body = parsedJson(text)
    if (body === undefined) return plainAnswer(400, 'Failed to parse the request body as JSON')
    const answer = this.#answer(use, body, nowMs)
    if (answer === undefined) return plainAnswer(429, TOO_MANY_REQUESTS)
    switch (answer.kind) {
      case 'data':
        return { status: 200, body: JSON.stringify(answer.data), isJson: true }
      case 'unknown':
        return { status: 500, body: 'null', isJson: true }
      case 'malformed':
        return plainAnswer(422, MALFORMED)
    }
  }

  /** @returns undefined when the address has used up its weight. */
  #answer(use: AddressUse, body: unknown, nowMs: number): InfoAnswer | undefined {
    if (this.#faults.keyOf('rest-429') !== undefined) return undefined
    if (!use.restWeight.take(infoWeight(body), nowMs)) return undefined
    const answer = answerInfo(this.#dexes, body, this.#view())
    if (answer.kind === 'data') use.restWeight.charge(answer.rowWeight)
    return answer
  }

  #garbage(answer: HttpAnswer): HttpAnswer {
    const key = bits(this.#faults.keyOf('rest-outage') ?? 0, this.#garbledCount++)
    const isPage = key % 2 === 0 || !answer.isJson
    return isPage
      ? plainAnswer(200, ERROR_PAGE)
      : { status: 200, body: garbled(answer.body, key), isJson: true }
  }
}

export function plainAnswer(status: number, body: string): HttpAnswer {
  return { status, body, isJson: false }
}
