import { TRADERS, traderOf } from '../market/holders.ts'
import { bits, noiseKey } from '../market/noise.ts'
import { hexText } from './hex.ts'

const ADDRESS_DIGITS = 40
const key = noiseKey(0, 'wire')

const addresses = Array.from(
  { length: TRADERS },
  (_, trader) => `0x${hexText(bits(key, trader), ADDRESS_DIGITS)}`,
)
const byAddress: ReadonlyMap<string, number> = new Map(
  addresses.map((address, trader) => [address, trader]),
)

/** Address of a trader of a coin, by a draw of 32 bits. */
export function traderAddress(coin: string, draw: number): string {
  return addressOf(traderOf(coin, draw))
}

export function addressOf(trader: number): string {
  const address = addresses[trader]
  if (address === undefined) throw new Error(`there is no trader ${trader}`)
  return address
}

/** The number of an address, in any case; undefined for an unknown address. */
export function traderAt(address: string): number | undefined {
  return byAddress.get(address.toLowerCase())
}
