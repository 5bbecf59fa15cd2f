import type { SettleResponse } from '../client/client.ts'
import { isRecord, parsedJson } from '../domain/json.ts'
import { jsonFault } from './json-fault.ts'

/** An answer with its receipt: what "Save" writes, and a subset of what `perpscope buy --json` prints. */
export type AnswerFile = {
  /** Path of the call; null if the input does not contain it. */
  readonly path: string | null
  readonly answer: Readonly<Record<string, unknown>>
  readonly receipt: SettleResponse
  /** `content` of the result of an MCP tool: the answer as a model reads it. */
  readonly content?: unknown
}

/** Why a text cannot be checked. */
export class AnswerFileError extends Error {
  override readonly name = 'AnswerFileError'
}

const MCP_RECEIPT = 'x402/payment-response'

export function answerFileText({ path, answer, receipt }: AnswerFile): string {
  return `${JSON.stringify({ path, receipt, answer }, null, 2)}\n`
}

/** The text that the hash of a receipt covers: the service sends answers as `JSON.stringify` writes them. */
export function answerText({ answer }: AnswerFile): string {
  return JSON.stringify(answer)
}

/**
 * Reads a saved file, the output of `perpscope buy --json`, `Bought` of the client, the result of an MCP tool, or a bare
 * answer with its receipt in `header`.
 * @param header value of `PAYMENT-RESPONSE`; '' if the text contains the receipt
 * @throws AnswerFileError
 */
export function readAnswerFile(text: string, header = ''): AnswerFile {
  const value = parsedJson(text)
  if (!isRecord(value)) throw new AnswerFileError('The answer is not a JSON object.')
  refuseAmbiguous(text, 'text')
  const { path, answer, receipt, content, structuredContent, _meta } = value
  if (isRecord(answer))
    return {
      path: typeof path === 'string' ? path : null,
      answer,
      receipt: oneReceipt(receipt, header),
    }
  if (isRecord(structuredContent)) {
    const given = isRecord(_meta) ? _meta[MCP_RECEIPT] : null
    const bought = { path: null, answer: structuredContent, receipt: oneReceipt(given, header) }
    return content === undefined ? bought : { ...bought, content }
  }
  return { path: null, answer: value, receipt: receiptOf(fromHeader(header)) }
}

/** Only one is checked, so a second one is refused. */
function oneReceipt(given: unknown, header: string): SettleResponse {
  if (!isRecord(given)) return receiptOf(fromHeader(header))
  if (header.trim() === '') return receiptOf(given)
  throw new AnswerFileError('The answer has a receipt: leave out the PAYMENT-RESPONSE header.')
}

function fromHeader(header: string): unknown {
  const trimmed = header.trim().replace(/^payment-response:\s*/i, '')
  if (trimmed === '')
    throw new AnswerFileError(
      'The receipt is missing. Add the PAYMENT-RESPONSE header of the response.',
    )
  const text = decoded(trimmed)
  const receipt = parsedJson(text)
  if (receipt === undefined)
    throw new AnswerFileError('The PAYMENT-RESPONSE header is not JSON in base64.')
  refuseAmbiguous(text, 'PAYMENT-RESPONSE header')
  return receipt
}

/** '' for what is not base64. */
function decoded(base64: string): string {
  try {
    return atob(base64)
  } catch {
    return ''
  }
}

function refuseAmbiguous(text: string, source: string): void {
  const fault = jsonFault(text)
  if (fault !== null) throw new AnswerFileError(`The ${source} ${fault}.`)
}

function receiptOf(value: unknown): SettleResponse {
  if (isRecord(value) && typeof value['transaction'] === 'string')
    return value as unknown as SettleResponse
  throw new AnswerFileError('The receipt is missing or names no transaction.')
}
