import type { PaymentEnvelope } from './payload.ts'
import type { Requirement } from './payment.ts'
import type { Rejection } from './rejection.ts'
import { rejection } from './rejection.ts'

/** Which of the route's requirements a payment is for, by its scheme and network. */
export function requirementFor(
  envelope: PaymentEnvelope,
  requirements: readonly Requirement[],
): Requirement | Rejection {
  const spoken = requirements.filter(({ method }) => nameIn(envelope, method) !== null)
  const schemes = new Set(spoken.map(({ method }) => method.scheme))
  if (!schemes.has(envelope.scheme)) {
    return rejection('unsupported_scheme', 'Pay with a scheme named in `accepts`.', {
      field: 'scheme',
      expected: [...schemes].join(' or '),
      received: envelope.scheme,
    })
  }
  const candidates = spoken.filter(({ method }) => method.scheme === envelope.scheme)
  const found = candidates.find(({ method }) => nameIn(envelope, method) === envelope.network)
  return (
    found ??
    rejection('invalid_network', 'Pay on one of the networks named in `accepts`.', {
      field: 'network',
      expected: candidates.map(({ method }) => nameIn(envelope, method)).join(' or '),
      received: envelope.network,
    })
  )
}

/** The terms that the buyer says it accepted must be ours: equal, not at least. */
export function checkAccepted(
  { accepted }: PaymentEnvelope,
  { method, amount }: Requirement,
): Rejection | null {
  if (accepted === null) return null
  const terms = { asset: method.asset, payTo: method.payTo, amount: amount.toString() }
  for (const name of ['asset', 'payTo', 'amount'] as const) {
    const [expected, received] = [terms[name], accepted[name]]
    if (spelled(received) === spelled(expected)) continue
    return rejection(
      'invalid_payment_requirements',
      'Read the terms of this answer again and sign exactly those.',
      { field: `accepted.${name}`, expected, received },
    )
  }
  return null
}

function nameIn({ version }: PaymentEnvelope, method: Requirement['method']): string | null {
  return version === 1 ? method.legacyName : method.network
}

/** Hexadecimal may be written in any case, base58 may not. */
function spelled(text: string): string {
  return /^0x/i.test(text) ? text.toLowerCase() : text
}
