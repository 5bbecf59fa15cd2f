import type { FastifyRequest } from 'fastify'
import type { BufferedResponse } from '../buffered-response.ts'
import type { EmitForRequest } from '../payment-event.ts'
import { ledgerUnavailable, settlementUnknown } from '../refusals.ts'
import { LedgerBusyError } from './ledger.ts'

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

/**
 * Without the ledger it is unknown whether a payment was charged before, and the response must not deny that. If the
 * ledger will be back, the same payment can be sent again, and this request has charged nothing.
 */
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
    return cause.cause instanceof LedgerBusyError
      ? ledgerUnavailable(request)
      : settlementUnknown(request, null)
  }
}
