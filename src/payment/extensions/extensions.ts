import { isRecord } from '../../domain/json.ts'

/** `extensions` of a quote or a payment: by name, with the data in `info`. Version 2 of x402 only. */
export type Extensions = Readonly<Record<string, unknown>>

/** `info` of one extension as received; null if there is none. */
export function infoOf(
  extensions: Extensions | null,
  name: string,
): Readonly<Record<string, unknown>> | null {
  const extension = own(extensions, name)
  const info = own(extension, 'info')
  return isRecord(info) ? info : null
}

/** A received member, not an inherited one. */
function own(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
