import type { Address } from 'viem'
import type { Chain } from '../../../domain/external.ts'
import type { PoolDex, SimulatedPool, SimulatedToken } from './pools.ts'
import { poolAddress } from './pools.ts'

export type SimulatedChain = {
  readonly chain: Exclude<Chain, 'solana'>
  readonly chainId: number
  readonly blockMs: number
  readonly gasGwei: number
  readonly pools: readonly SimulatedPool[]
  /** In the order of {@link feedAssets}. */
  readonly feeds: readonly Address[]
}

export const feedAssets = ['USDC', 'USDT', 'ETH', 'BTC', 'SOL'] as const

const LONG_MEMORY_SECONDS = 3_600
/** Shallower pools have no observations. */
const THIN_QUOTE = 250_000

const factories = {
  uniswap: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
  uniswapBase: '0x33128a8fC17869897dcE68Ed026d694621f6FDfD',
  uniswapBsc: '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7',
  uniswapAvalanche: '0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD',
  pancakeswap: '0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865',
  aerodrome: '0x5e7BB104d84c7CB9B682AaC2F3d509f5F406809A',
  velodrome: '0xCc0bDDB707055e04e497aB22a59c2aF4391cd12F',
} as const satisfies Record<string, Address>

/** Factory, base, quote, tier, quote balance; the address if it cannot be derived. */
type PoolRow = readonly [
  factory: keyof typeof factories,
  base: string,
  quote: string,
  tier: number,
  balanceQuote: number,
  address?: Address,
]

type ChainRow = Omit<SimulatedChain, 'pools'> & {
  readonly tokens: readonly SimulatedToken[]
  readonly pools: readonly PoolRow[]
}

const CBBTC: Address = '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf'
const OP_STACK_WETH: Address = '0x4200000000000000000000000000000000000006'

/** Real tokens and pools of seven chains, with invented depths. */
export const simulatedChains: readonly SimulatedChain[] = [
  chainOf({
    chain: 'ethereum',
    chainId: 1,
    blockMs: 12_000,
    gasGwei: 1.2,
    tokens: [
      token('WETH', 'ETH', 18, '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'),
      token('WBTC', 'BTC', 8, '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599'),
      token('cbBTC', 'BTC', 8, CBBTC),
      token('USDC', 'USDC', 6, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'),
      token('USDT', 'USDT', 6, '0xdAC17F958D2ee523a2206206994597C13D831ec7'),
    ],
    pools: [
      ['uniswap', 'WETH', 'USDC', 500, 70e6],
      ['uniswap', 'WETH', 'USDC', 3_000, 30e6],
      ['uniswap', 'WETH', 'USDT', 500, 8e6],
      ['uniswap', 'WETH', 'USDT', 3_000, 35e6],
      ['uniswap', 'WBTC', 'USDC', 500, 4e6],
      ['uniswap', 'WBTC', 'USDC', 3_000, 20e6],
      ['uniswap', 'WBTC', 'USDT', 500, 6e6],
      ['uniswap', 'cbBTC', 'USDC', 500, 9e6],
      ['uniswap', 'USDC', 'USDT', 100, 25e6],
      ['uniswap', 'USDC', 'USDT', 500, 1e6],
      ['pancakeswap', 'WETH', 'USDC', 500, 2e6],
    ],
    feeds: [
      '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6',
      '0x3E7d1eAB13ad0104d2750B8863b489D65364e32D',
      '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
      '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c',
      '0x4ffC43a60e009B551865A93d232E33Fce9f01507',
    ],
  }),
  chainOf({
    chain: 'arbitrum',
    chainId: 42_161,
    blockMs: 250,
    gasGwei: 0.02,
    tokens: [
      token('WETH', 'ETH', 18, '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1'),
      token('WBTC', 'BTC', 8, '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f'),
      token('USDC', 'USDC', 6, '0xaf88d065e77c8cC2239327C5EDb3A432268e5831'),
      token('USDT0', 'USDT', 6, '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9'),
    ],
    pools: [
      ['uniswap', 'WETH', 'USDC', 500, 40e6],
      ['uniswap', 'WETH', 'USDC', 3_000, 2e6],
      ['uniswap', 'WETH', 'USDT0', 500, 12e6],
      ['uniswap', 'WBTC', 'USDC', 500, 10e6],
      ['uniswap', 'WBTC', 'USDT0', 500, 8e6],
      ['uniswap', 'USDC', 'USDT0', 100, 6e6],
    ],
    feeds: [
      '0x50834F3163758fcC1Df9973b6e91f0F0F0434aD3',
      '0x3f3f5dF88dC9F13eac63DF89EC16ef6e7E25DdE7',
      '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
      '0x6ce185860a4963106506C203335A2910413708e9',
      '0x24ceA4b8ce57cdA5058b924B9B9987992450590c',
    ],
  }),
  chainOf({
    chain: 'base',
    chainId: 8_453,
    blockMs: 2_000,
    gasGwei: 0.01,
    tokens: [
      token('WETH', 'ETH', 18, OP_STACK_WETH),
      token('cbBTC', 'BTC', 8, CBBTC),
      token('USDC', 'USDC', 6, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
      token('USDT', 'USDT', 6, '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2'),
    ],
    pools: [
      ['aerodrome', 'WETH', 'USDC', 100, 15e6, '0xb2cc224c1c9feE385f8ad6a55b4d94E92359DC59'],
      ['uniswapBase', 'WETH', 'USDC', 500, 9e6],
      ['aerodrome', 'cbBTC', 'USDC', 100, 12e6, '0x4e962BB3889Bf030368F56810A9c96B83CB3E778'],
      ['uniswapBase', 'cbBTC', 'USDC', 500, 3e6],
      ['uniswapBase', 'USDC', 'USDT', 100, 120_000],
      ['aerodrome', 'USDC', 'USDT', 1, 180_000, '0xa41Bc0AFfbA7Fd420d186b84899d7ab2aC57fcD1'],
    ],
    feeds: [
      '0x7e860098F58bBFC8648a4311b374B1D669a2bc6B',
      '0xf19d560eB8d2ADf07BD6D13ed03e1D11215721F9',
      '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
      '0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F',
      '0x975043adBb80fc32276CbF9Bbcfd4A601a12462D',
    ],
  }),
  chainOf({
    chain: 'optimism',
    chainId: 10,
    blockMs: 2_000,
    gasGwei: 0.002,
    tokens: [
      token('WETH', 'ETH', 18, OP_STACK_WETH),
      token('WBTC', 'BTC', 8, '0x68f180fcCe6836688e9084f035309E29Bf0A2095'),
      token('USDC', 'USDC', 6, '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85'),
      token('USDT', 'USDT', 6, '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58'),
      token('USDT0', 'USDT', 6, '0x01bFF41798a0BcF287b996046Ca68b395DbC1071'),
    ],
    pools: [
      ['velodrome', 'WETH', 'USDC', 100, 3e6, '0x478946BcD4a5a22b316470F5486fAfb928C0bA25'],
      ['uniswap', 'WETH', 'USDC', 500, 2e6],
      ['uniswap', 'WBTC', 'WETH', 500, 600],
      ['velodrome', 'WBTC', 'WETH', 100, 250, '0x319C0DD36284ac24A6b2beE73929f699b9f48c38'],
      ['velodrome', 'USDC', 'USDT', 1, 1.5e6, '0x84Ce89B4f6F67E523A81A82f9f2F14D84B726F6B'],
      ['uniswap', 'USDC', 'USDT', 100, 400_000],
    ],
    feeds: [
      '0x16a9FA2FDa030272Ce99B29CF780dFA30361E0f3',
      '0xECef79E109e997bCA29c1c0897ec9d7b03647F5E',
      '0x13e3Ee699D1909E989722E753853AE30b17e08c5',
      '0xD702DD976Fb76Fffc2D3963D037dfDae5b04E593',
      '0xC663315f7aF904fbbB0F785c32046dFA03e85270',
    ],
  }),
  chainOf({
    chain: 'polygon',
    chainId: 137,
    blockMs: 2_000,
    gasGwei: 35,
    tokens: [
      token('WETH', 'ETH', 18, '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619'),
      token('WBTC', 'BTC', 8, '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6'),
      token('USDC', 'USDC', 6, '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'),
      token('USDT0', 'USDT', 6, '0xc2132D05D31c914a87C6611C10748AEb04B58e8F'),
    ],
    pools: [
      ['uniswap', 'WETH', 'USDC', 500, 2.5e6],
      ['uniswap', 'WETH', 'USDT0', 500, 900_000],
      ['uniswap', 'WBTC', 'WETH', 500, 900],
      ['uniswap', 'USDC', 'USDT0', 100, 2e6],
    ],
    feeds: [
      '0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7',
      '0x0A6513e40db6EB1b165753AD52E80663aeA50545',
      '0xF9680D99D6C9589e2a93a78A04A279e509205945',
      '0xc907E116054Ad103354f2D350FD2514433D57F6f',
      '0x10C8264C0935b3B9870013e057f330Ff3e9C56dC',
    ],
  }),
  chainOf({
    chain: 'bsc',
    chainId: 56,
    blockMs: 750,
    gasGwei: 0.1,
    tokens: [
      token('ETH', 'ETH', 18, '0x2170Ed0880ac9A755fd29B2688956BD959F933F8'),
      token('BTCB', 'BTC', 18, '0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c'),
      token('USDC', 'USDC', 18, '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'),
      token('USDT', 'USDT', 18, '0x55d398326f99059fF775485246999027B3197955'),
    ],
    pools: [
      ['pancakeswap', 'ETH', 'USDT', 500, 7e6],
      ['pancakeswap', 'ETH', 'USDT', 100, 2e6],
      ['pancakeswap', 'BTCB', 'USDT', 500, 9e6],
      ['pancakeswap', 'USDC', 'USDT', 100, 12e6],
      ['uniswapBsc', 'ETH', 'USDT', 500, 1e6],
    ],
    feeds: [
      '0x51597f405303C4377E36123cBc172b13269EA163',
      '0xB97Ad0E74fa7d920791E90258A6E2085088b4320',
      '0x9ef1B8c0E4F7dc8bF5719Ea496883DC6401d5b2e',
      '0x264990fbd0A4796A3E3d8E37C4d5F87a3aCa5Ebf',
      '0x0E8a53DD9c13589df6382F13dA6B3Ec8F919B323',
    ],
  }),
  chainOf({
    chain: 'avalanche',
    chainId: 43_114,
    blockMs: 1_500,
    gasGwei: 1,
    tokens: [
      token('WETH.e', 'ETH', 18, '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB'),
      token('BTC.b', 'BTC', 8, '0x152b9d0FdC40C096757F570A51E494bd4b943E50'),
      token('USDC', 'USDC', 6, '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E'),
      token('USDT', 'USDT', 6, '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7'),
    ],
    pools: [
      ['uniswapAvalanche', 'WETH.e', 'USDC', 500, 700_000],
      ['uniswapAvalanche', 'BTC.b', 'USDC', 500, 150_000],
      ['uniswapAvalanche', 'USDC', 'USDT', 100, 800_000],
    ],
    feeds: [
      '0xF096872672F44d6EBA71458D74fe67F9a77a23B9',
      '0xEBE676ee90Fe1112671f19b6B7459bC678B67e8a',
      '0x976B3D034E162d8bD72D6b9C989d545b839003b0',
      '0x2779D32d5166BAaa2B2b658333bA7e6Ec0C65743',
    ],
  }),
]

function chainOf({ tokens, pools, ...chain }: ChainRow): SimulatedChain {
  const tokenOf = (symbol: string) => {
    const found = tokens.find((token) => token.symbol === symbol)
    if (found === undefined) throw new Error(`${chain.chain} has no ${symbol}`)
    return found
  }
  return {
    ...chain,
    pools: pools.map(([name, baseSymbol, quoteSymbol, tier, balanceQuote, given]) => {
      const [base, quote, factory] = [tokenOf(baseSymbol), tokenOf(quoteSymbol), factories[name]]
      const dex = dexOf(name)
      const derive = () => {
        if (dex !== 'uniswap-v3' && dex !== 'pancakeswap-v3')
          throw new Error(`${chain.chain}: a pool of ${dex} needs an address`)
        return poolAddress(dex, factory, [base.address, quote.address], tier)
      }
      const isThin = quote.asset !== 'ETH' && balanceQuote < THIN_QUOTE
      const memorySeconds = isThin ? 0 : LONG_MEMORY_SECONDS
      return {
        dex,
        factory,
        address: given ?? derive(),
        base,
        quote,
        tier,
        balanceQuote,
        memorySeconds,
      }
    }),
  }
}

function dexOf(factory: keyof typeof factories): PoolDex {
  if (factory === 'aerodrome' || factory === 'velodrome') return `${factory}-slipstream`
  return factory === 'pancakeswap' ? 'pancakeswap-v3' : 'uniswap-v3'
}

function token(
  symbol: string,
  asset: SimulatedToken['asset'],
  decimals: number,
  address: Address,
): SimulatedToken {
  return { symbol, asset, decimals, address }
}
