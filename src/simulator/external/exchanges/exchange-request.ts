import { isRecord, parsedJson } from '../../../domain/json.ts'

/** A JSON object of a client. */
export type ExchangeRequest = { readonly [name: string]: unknown }

export function requestObject(value: unknown): ExchangeRequest | null {
  return isRecord(value) ? value : null
}

/** @returns null for text that is no JSON object */
export function parseRequest(text: string): ExchangeRequest | null {
  return requestObject(parsedJson(text))
}

export function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
