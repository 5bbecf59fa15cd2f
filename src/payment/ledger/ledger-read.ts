import type { FastifyRequest } from 'fastify'
import type { BufferedResponse } from '../buffered-response.ts'
import type { EmitForRequest } from '../payment-event.ts'
import { settlementUnknown } from '../refusals.ts'

class LedgerReadError extends Error {
  override readonly name = 'LedgerReadError'
}

/** Reads the ledger. A failure ends the request through `unknownIfUnreadable`. */
export async function readLedger<T>(read: Promise<T>): Promise<T> {
  try {
    return await read
  } catch (cause) {
    throw new LedgerReadError('the ledger cannot be read', { cause })
  }
}

/** Without the ledger it is unknown whether a payment was charged before: the response must not deny that. */
export async function unknownIfUnreadable<T>(
  request: FastifyRequest,
  emit: EmitForRequest,
  work: () => Promise<T>,
): Promise<T | BufferedResponse> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof LedgerReadError)) throw cause
    emit(request, { kind: 'failed', cause: cause.cause })
    return settlementUnknown(request, null)
  }
}
