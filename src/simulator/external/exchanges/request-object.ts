/** What a client sent, if it was a JSON object. */
export type RequestObject = { readonly [name: string]: unknown }

export function requestObject(value: unknown): RequestObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as RequestObject)
    : null
}

/** @returns null for what is no JSON object */
export function parseRequest(text: string): RequestObject | null {
  try {
    return requestObject(JSON.parse(text))
  } catch {
    return null
  }
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
