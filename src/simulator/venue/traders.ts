import { LIQUIDATOR, TRADERS } from '../market/holders.ts'
import { bits, noiseKey } from '../market/noise.ts'
import { hexText } from './hex.ts'

const ADDRESS_DIGITS = 40
const key = noiseKey(0, 'wire')

/** One of the venue's liquidator vaults. */
const LIQUIDATOR_ADDRESS = '0x2e3d94f0562703b25c83308a05046ddaf9a8dd14'

const addresses = Array.from({ length: TRADERS + 1 }, (_, trader) =>
  trader === LIQUIDATOR ? LIQUIDATOR_ADDRESS : `0x${hexText(bits(key, trader), ADDRESS_DIGITS)}`,
)
const byAddress: ReadonlyMap<string, number> = new Map(
  addresses.map((address, trader) => [address, trader]),
)

export function addressOf(trader: number): string {
  const address = addresses[trader]
  if (address === undefined) throw new Error(`there is no trader ${trader}`)
  return address
}

/** The number of an address, in any case; undefined for an unknown address. */
export function traderAt(address: string): number | undefined {
  return byAddress.get(address.toLowerCase())
}
