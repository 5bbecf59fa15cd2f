/**
 * What stands under `extensions` of a quote, and of a payment that echoes it: by name, with the data in `info`.
 * Only version 2 of x402 has them.
 */
export type Extensions = Readonly<Record<string, unknown>>

/** The `info` of one extension, as the other side sent it; null where there is none. */
export function infoOf(
  extensions: Extensions | null,
  name: string,
): Readonly<Record<string, unknown>> | null {
  const extension = own(extensions, name)
  const info = own(extension, 'info')
  return isRecord(info) ? info : null
}

/** A member that was sent, not one that every object has. */
function own(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
