/** A JSON object of a client. */
export type ExchangeRequest = { readonly [name: string]: unknown }

export function requestObject(value: unknown): ExchangeRequest | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as ExchangeRequest)
    : null
}

/** @returns null for text that is no JSON object */
export function parseRequest(text: string): ExchangeRequest | null {
  try {
    return requestObject(JSON.parse(text))
  } catch {
    return null
  }
}

export function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
