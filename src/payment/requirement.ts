import type { PaymentEnvelope } from './payload.ts'
import type { Requirement } from './payment.ts'
import type { Rejection } from './rejection.ts'
import { rejection } from './rejection.ts'

/** Selects the requirement that a payment pays, by scheme and network. */
export function requirementFor(
  envelope: PaymentEnvelope,
  requirements: readonly Requirement[],
): Requirement | Rejection {
  const spoken = requirements.filter(({ method }) => nameIn(envelope, method) !== null)
  const schemes = new Set(spoken.map(({ method }) => method.scheme))
  if (!schemes.has(envelope.scheme)) {
    return rejection('unsupported_scheme', 'Pay with a scheme of `accepts`.', {
      field: 'scheme',
      expected: [...schemes].join(' or '),
      received: envelope.scheme,
    })
  }
  const candidates = spoken.filter(({ method }) => method.scheme === envelope.scheme)
  const found = candidates.find(({ method }) => nameIn(envelope, method) === envelope.network)
  return (
    found ??
    rejection('invalid_network', 'Pay on a network of `accepts`.', {
      field: 'network',
      expected: candidates.map(({ method }) => nameIn(envelope, method)).join(' or '),
      received: envelope.network,
    })
  )
}

/** The accepted terms must equal ours. */
export function checkAccepted(
  { accepted }: PaymentEnvelope,
  { method, amount }: Requirement,
): Rejection | null {
  if (accepted === null) return null
  const terms = { asset: method.asset, payTo: method.payTo, amount: amount.toString() }
  for (const name of ['asset', 'payTo', 'amount'] as const) {
    const [expected, received] = [terms[name], accepted[name]]
    if (canonicalCase(received) === canonicalCase(expected)) continue
    return rejection('invalid_payment_requirements', 'Sign exactly the terms of this response.', {
      field: `accepted.${name}`,
      expected,
      received,
    })
  }
  return null
}

function nameIn({ version }: PaymentEnvelope, method: Requirement['method']): string | null {
  return version === 1 ? method.legacyName : method.network
}

/** Hexadecimal is case-insensitive, base58 is not. */
export function canonicalCase(text: string): string {
  return /^0x/i.test(text) ? text.toLowerCase() : text
}
