import type { Entry } from '../ledger/ledger.ts'

export const NOW_MS = Date.UTC(2026, 0, 1)
export const VALID_BEFORE_SECONDS = NOW_MS / 1_000 + 120

function wire(nonce: string): Entry['wire'] {
  const accepted = {
    scheme: 'exact',
    network: 'eip155:8453',
    asset: '0xA',
    amount: '25000',
    payTo: '0xC',
    maxTimeoutSeconds: 120,
    extra: {},
  } as const
  return { x402Version: 2, accepted, payload: { nonce } }
}

/** A payment whose answer is about to be made durable. */
export function ledgerEntry(nonce: string): Entry {
  return {
    key: { network: 'eip155:8453', asset: '0xA', payer: '0xB', nonce },
    route: '/pulse/:coin',
    binding: '["GET","/pulse/:coin"]',
    payloadHash: 'hash',
    identifier: null,
    access: { secrets: [], caller: 'caller', callerUntilMs: NOW_MS + 120_000 },
    amount: 25_000n,
    finality: 'confirmed',
    exposure: { payerMax: 1_000_000n, totalMax: 1_000_000n },
    wire: wire(nonce),
    validBeforeSeconds: VALID_BEFORE_SECONDS,
    answer: { status: 200, headers: { etag: '"1"' }, body: Buffer.from(`answer of ${nonce}`) },
  }
}
