import { isRecord, parsedJson } from '../../domain/json.ts'

/** A JSON object of an external source: every member may be missing or of any type. */
export type UntrustedObject = Readonly<Record<string, unknown>>

/** @returns undefined for text that is not JSON or is longer than `charsMax` */
export function parseUntrusted(text: string, charsMax: number): unknown {
  return text.length > charsMax ? undefined : parsedJson(text)
}

export function isUntrustedObject(value: unknown): value is UntrustedObject {
  return isRecord(value)
}

/** An own member, never an inherited one. */
export function ownMember(value: unknown, name: string): unknown {
  return isUntrustedObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** At most the first `max` entries; empty for a value that is no array. */
export function untrustedList(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : []
}
