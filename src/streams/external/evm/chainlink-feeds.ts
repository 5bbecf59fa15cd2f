import type { Address } from 'viem'
import type { EvmChainName } from './evm-chains.ts'

type ChainlinkAsset = 'USDC' | 'USDT' | 'ETH' | 'BTC' | 'SOL'

export type ChainlinkFeed = {
  readonly asset: ChainlinkAsset
  readonly address: Address
  /** Deviation threshold: the feed publishes after a larger move. */
  readonly resolutionBps: number
  readonly heartbeatMs: number
}

/** Decimals of every USD feed. */
export const CHAINLINK_DECIMALS = 8

const HOUR_MS = 3_600_000
const assets: readonly ChainlinkAsset[] = ['USDC', 'USDT', 'ETH', 'BTC', 'SOL']

/** https://data.chain.link. The adapters that Aave uses for stablecoins are capped and not used here. */
const addresses: Readonly<Record<EvmChainName, readonly Address[]>> = {
  ethereum: [
    '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6',
    '0x3E7d1eAB13ad0104d2750B8863b489D65364e32D',
    '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c',
    '0x4ffC43a60e009B551865A93d232E33Fce9f01507',
  ],
  base: [
    '0x7e860098F58bBFC8648a4311b374B1D669a2bc6B',
    '0xf19d560eB8d2ADf07BD6D13ed03e1D11215721F9',
    '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
    '0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F',
    '0x975043adBb80fc32276CbF9Bbcfd4A601a12462D',
  ],
  arbitrum: [
    '0x50834F3163758fcC1Df9973b6e91f0F0F0434aD3',
    '0x3f3f5dF88dC9F13eac63DF89EC16ef6e7E25DdE7',
    '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
    '0x6ce185860a4963106506C203335A2910413708e9',
    '0x24ceA4b8ce57cdA5058b924B9B9987992450590c',
  ],
  optimism: [
    '0x16a9FA2FDa030272Ce99B29CF780dFA30361E0f3',
    '0xECef79E109e997bCA29c1c0897ec9d7b03647F5E',
    '0x13e3Ee699D1909E989722E753853AE30b17e08c5',
    '0xD702DD976Fb76Fffc2D3963D037dfDae5b04E593',
    '0xC663315f7aF904fbbB0F785c32046dFA03e85270',
  ],
  polygon: [
    '0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7',
    '0x0A6513e40db6EB1b165753AD52E80663aeA50545',
    '0xF9680D99D6C9589e2a93a78A04A279e509205945',
    '0xc907E116054Ad103354f2D350FD2514433D57F6f',
    '0x10C8264C0935b3B9870013e057f330Ff3e9C56dC',
  ],
  bsc: [
    '0x51597f405303C4377E36123cBc172b13269EA163',
    '0xB97Ad0E74fa7d920791E90258A6E2085088b4320',
    '0x9ef1B8c0E4F7dc8bF5719Ea496883DC6401d5b2e',
    '0x264990fbd0A4796A3E3d8E37C4d5F87a3aCa5Ebf',
    '0x0E8a53DD9c13589df6382F13dA6B3Ec8F919B323',
  ],
  avalanche: [
    '0xF096872672F44d6EBA71458D74fe67F9a77a23B9',
    '0xEBE676ee90Fe1112671f19b6B7459bC678B67e8a',
    '0x976B3D034E162d8bD72D6b9C989d545b839003b0',
    '0x2779D32d5166BAaa2B2b658333bA7e6Ec0C65743',
  ],
}

/** Documented heartbeats of ETH and BTC that are shorter than a day. */
const coinHeartbeatsMs: Partial<Readonly<Record<EvmChainName, number>>> = {
  ethereum: HOUR_MS,
  base: HOUR_MS / 3,
}

/**
 * Thresholds and heartbeats are the widest known ones, so that no healthy feed counts as stale: measured
 * for USDC on Ethereum (400 rounds of 2023), documented for Ethereum, and assumed for the other chains,
 * whose feeds publish more often.
 */
export function chainlinkFeeds(chain: EvmChainName): readonly ChainlinkFeed[] {
  return addresses[chain].flatMap((address, column) => {
    const asset = assets[column]
    if (asset === undefined) return []
    const isStablecoin = asset === 'USDC' || asset === 'USDT'
    const isMajor = asset === 'ETH' || asset === 'BTC'
    return {
      asset,
      address,
      resolutionBps: isStablecoin ? 25 : 50,
      heartbeatMs: (isMajor ? coinHeartbeatsMs[chain] : undefined) ?? 24 * HOUR_MS,
    }
  })
}
