import { LIQUIDATOR } from '../market/holders.ts'
import { addressOf } from './traders.ts'

/** The venue's own vault for liquidity, whose child liquidates. */
const LIQUIDITY_VAULT = '0xdfc24b077bc1425ad1dea75bcb6f8158e10df303'

/** The reply to `vaultDetails`, in its members that do not change; undefined for an address that is no vault. */
export function vaultDetailsWire(address: string): object | undefined {
  const liquidator = addressOf(LIQUIDATOR)
  switch (address.toLowerCase()) {
    case LIQUIDITY_VAULT:
      return details('Hyperliquidity Provider (HLP)', address, {
        type: 'parent',
        data: { childAddresses: [liquidator] },
      })
    case liquidator:
      return details('HLP Liquidator', address, {
        type: 'child',
        data: { parentAddress: LIQUIDITY_VAULT },
      })
    default:
      return undefined
  }
}

function details(name: string, vaultAddress: string, relationship: object): object {
  return { name, vaultAddress, leader: LIQUIDITY_VAULT, isClosed: false, relationship }
}
