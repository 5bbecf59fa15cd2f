import type { Hex } from 'viem'

/** A million gwei: beyond it a node is wrong about its own chain. */
const WEI_MAX = 1e15

/** Bytes as JSON-RPC writes them. */
export function hexOf(value: unknown): Hex | null {
  return typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? (value as Hex) : null
}

/** A gas price as JSON-RPC writes it: above zero, and not absurd. */
export function weiOf(value: unknown): number | null {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) return null
  const wei = Number(BigInt(value))
  return wei > 0 && wei <= WEI_MAX ? wei : null
}
