import type { Address, Hex } from 'viem'
import { isAddressEqual } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { base, baseSepolia } from './networks.ts'
import { MULTICALL3_ADDRESS } from './transfer.ts'

/** One of our private keys and the option that it came from. */
export type OwnKey = { readonly option: string; readonly key: Hex }

/** Precompiles and reserved addresses. */
const RESERVED_MAX = 0xffffn
/** Predeployed contracts of the OP stack, such as WETH. */
const PREDEPLOYS = [0x4200n << 144n, (0x4200n << 144n) + 0xffffn] as const
/** Addresses where money is lost. Token addresses are often copied by mistake. */
export const knownAddresses: readonly (readonly [Address, string])[] = [
  ['0x0000000000000000000000000000000000000000', 'the zero address'],
  ['0x000000000000000000000000000000000000dEaD', 'a burn address'],
  ['0xdEAD000000000000000042069420694206942069', 'a burn address'],
  ['0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', 'the placeholder address of ether'],
  ['0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF', 'a burn address'],
  [base.asset, 'the contract of USDC on Base'],
  [baseSepolia.asset, 'the contract of USDC on Base Sepolia'],
  ['0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA', 'the contract of USDbC on Base'],
  ['0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2', 'the contract of USDT on Base'],
  ['0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb', 'the contract of DAI on Base'],
  ['0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42', 'the contract of EURC on Base'],
  ['0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf', 'the contract of cbBTC on Base'],
  ['0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'the contract of USDC on Ethereum'],
  ['0xdAC17F958D2ee523a2206206994597C13D831ec7', 'the contract of USDT on Ethereum'],
  [MULTICALL3_ADDRESS, 'the contract Multicall3'],
  ['0x000000000022D473030F116dDEE9F6B43aC78BA3', 'the contract Permit2'],
]

/** Why money paid to this address would be lost or unsafe; each entry names its remedy. */
export function payeeFaults(payTo: Address, ownKeys: readonly OwnKey[]): readonly string[] {
  const known = knownAddresses.find(([address]) => isAddressEqual(address, payTo))?.[1]
  const what = known ?? (isReserved(BigInt(payTo)) ? 'reserved for system contracts' : null)
  if (what !== null) return [`--pay-to ${payTo} is ${what}. Use the address of your wallet.`]
  return ownKeys
    .filter(({ key }) => isAddressEqual(privateKeyToAddress(key), payTo))
    .map(
      ({ option }) =>
        `--pay-to is the address of ${option}. A key on the server must not own the income. Use another address.`,
    )
}

function isReserved(value: bigint): boolean {
  const [first, last] = PREDEPLOYS
  return value <= RESERVED_MAX || (value >= first && value <= last)
}
