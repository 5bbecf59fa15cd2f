import type { SupportedResponse } from '@x402/core/types'
import { describe, expect, test } from 'vitest'
import { base } from '../evm/networks.ts'
import { capability, paysFee } from './capability.ts'

const exact = { scheme: 'exact', network: base.network, asset: base.asset }
const told = { x402Version: 2, scheme: 'exact', network: base.network } as const

function supported(
  kinds: SupportedResponse['kinds'],
  signers: SupportedResponse['signers'] = {},
): SupportedResponse {
  return { kinds, extensions: [], signers }
}

describe('a facilitator can do', () => {
  test.each<{ what: string; kind: Partial<SupportedResponse['kinds'][number]> }>([
    { what: 'what it names', kind: {} },
    { what: 'every chain of a family that it names', kind: { network: 'eip155:*' } },
    {
      what: 'an asset, in any spelling',
      kind: { extra: { asset: base.asset.toLowerCase() } },
    },
  ])('$what', ({ kind }) => {
    expect(capability(supported([{ ...told, ...kind }]), exact)).not.toBeNull()
  })

  test.each<{ what: string; kind: Partial<SupportedResponse['kinds'][number]> }>([
    { what: 'another scheme', kind: { scheme: 'upto' } },
    { what: 'another chain', kind: { network: 'eip155:84532' } },
    { what: 'a chain whose number begins alike', kind: { network: 'eip155:84530' } },
    { what: 'another family', kind: { network: 'solana:*' } },
    { what: 'version 1 alone', kind: { x402Version: 1 } },
    { what: 'another asset', kind: { extra: { asset: `0x${'1'.repeat(40)}` } } },
  ])('nothing by $what', ({ kind }) => {
    expect(capability(supported([{ ...told, ...kind }]), exact)).toBeNull()
  })
})

describe('the fee of a payment', () => {
  const solana = { scheme: 'exact', network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', asset: 'm' }
  const kind = { x402Version: 2, scheme: 'exact', network: solana.network as `${string}:${string}` }

  test('is anybody’s where the terms name nobody', () => {
    expect(paysFee(supported([told]), exact, {})).toBe(true)
  })

  test('is paid by the one whom the terms name, by its kind or among its signers', () => {
    const own = supported([{ ...kind, extra: { feePayer: 'A' } }], { 'solana:*': ['B'] })
    const who = ['A', 'B', 'C'].map((feePayer) => paysFee(own, solana, { feePayer }))
    expect(who).toEqual([true, true, false])
  })
})
