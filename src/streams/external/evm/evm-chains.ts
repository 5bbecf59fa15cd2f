import type { Address } from 'viem'
import type { Chain } from '../../../domain/external.ts'
import type { PairOrder } from './v3-price.ts'

export type EvmChainName = Exclude<Chain, 'solana'>

type Token = {
  readonly symbol: string
  readonly address: Address
  readonly decimals: number
}

export type PoolAsset = 'ETH' | 'BTC' | 'USDC'
/** ETH is the quote of BTC pools only, whose price is converted by the chain's pool of ETH. */
type PoolQuote = 'USDC' | 'USDT' | 'ETH'

/** Two tokens, and the asset and quote currency that they represent. */
export type TokenPair = {
  readonly asset: PoolAsset
  readonly quote: PoolQuote
  readonly assetToken: Token
  readonly quoteToken: Token
}

export type EvmPool = TokenPair & { readonly dex: string; readonly address: Address }

/** A contract that returns the pools of a pair. */
export type PoolFactory = {
  readonly dex: string
  readonly address: Address
  /** What distinguishes the pools of one pair: the fee in millionths, or the tick spacing. */
  readonly tieredBy: 'fee' | 'tick-spacing'
  readonly tiers: readonly number[]
}

export type EvmChainConfig = {
  readonly chain: EvmChainName
  readonly chainId: number
  /** The coin in which gas is paid. */
  readonly native: string
  /** Approximate time between two blocks. */
  readonly blockMs: number
  readonly pairs: readonly TokenPair[]
  readonly factories: readonly PoolFactory[]
  /** Read until the first discovery. */
  readonly initialPools: readonly EvmPool[]
}

const uniswapV3 = (address: Address): PoolFactory => ({
  dex: 'uniswap-v3',
  address,
  tieredBy: 'fee',
  tiers: [100, 500, 3_000],
})
const pancakeswapV3: PoolFactory = {
  dex: 'pancakeswap-v3',
  address: '0x0BFbCF9fa4f9C56B0F40a671Ad40E0805A091865',
  tieredBy: 'fee',
  tiers: [100, 500, 2_500, 10_000],
}
const slipstream = (dex: string, address: Address): PoolFactory => ({
  dex,
  address,
  tieredBy: 'tick-spacing',
  tiers: [1, 50, 100, 200],
})

const UNISWAP_V3 = uniswapV3('0x1F98431c8aD98523631AE4a59f267346ea31F984')
const OP_STACK_WETH = token('WETH', 18, '0x4200000000000000000000000000000000000006')

/** Addresses as on the block explorer of each chain. */
export const evmChains: readonly EvmChainConfig[] = [
  chainOf({
    chain: 'ethereum',
    chainId: 1,
    native: 'ETH',
    blockMs: 12_000,
    ETH: token('WETH', 18, '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'),
    BTC: [
      token('WBTC', 8, '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599'),
      token('cbBTC', 8, '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf'),
    ],
    USDC: token('USDC', 6, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'),
    USDT: [token('USDT', 6, '0xdAC17F958D2ee523a2206206994597C13D831ec7')],
    factories: [UNISWAP_V3, pancakeswapV3],
    initialPools: [
      ['uniswap-v3', 'WETH', 'USDC', '0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640'],
      ['uniswap-v3', 'WBTC', 'USDC', '0x9a772018FbD77fcD2d25657e5C547BAfF3Fd7D16'],
      ['uniswap-v3', 'USDC', 'USDT', '0x3416cF6C708Da44DB2624D63ea0AAef7113527C6'],
    ],
  }),
  chainOf({
    chain: 'arbitrum',
    chainId: 42_161,
    native: 'ETH',
    blockMs: 250,
    ETH: token('WETH', 18, '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1'),
    BTC: [token('WBTC', 8, '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f')],
    USDC: token('USDC', 6, '0xaf88d065e77c8cC2239327C5EDb3A432268e5831'),
    USDT: [token('USDT0', 6, '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9')],
    factories: [UNISWAP_V3, pancakeswapV3],
    initialPools: [
      ['uniswap-v3', 'WETH', 'USDC', '0xC6962004f452bE9203591991D15f6b388e09E8D0'],
      ['uniswap-v3', 'WBTC', 'USDC', '0x0E4831319A50228B9e450861297aB92dee15B44F'],
      ['uniswap-v3', 'USDC', 'USDT0', '0xbE3aD6a5669Dc0B8b12FeBC03608860C31E2eef6'],
    ],
  }),
  chainOf({
    chain: 'base',
    chainId: 8_453,
    native: 'ETH',
    blockMs: 2_000,
    ETH: OP_STACK_WETH,
    BTC: [token('cbBTC', 8, '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf')],
    USDC: token('USDC', 6, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
    USDT: [token('USDT', 6, '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2')],
    factories: [
      uniswapV3('0x33128a8fC17869897dcE68Ed026d694621f6FDfD'),
      pancakeswapV3,
      slipstream('aerodrome-slipstream', '0x5e7BB104d84c7CB9B682AaC2F3d509f5F406809A'),
      slipstream('aerodrome-slipstream', '0xaDe65c38CD4849aDBA595a4323a8C7DdfE89716a'),
    ],
    initialPools: [
      ['aerodrome-slipstream', 'WETH', 'USDC', '0xb2cc224c1c9feE385f8ad6a55b4d94E92359DC59'],
      ['aerodrome-slipstream', 'cbBTC', 'USDC', '0x4e962BB3889Bf030368F56810A9c96B83CB3E778'],
      ['uniswap-v3', 'USDC', 'USDT', '0xD56da2B74bA826f19015E6B7Dd9Dae1903E85DA1'],
    ],
  }),
  chainOf({
    chain: 'optimism',
    chainId: 10,
    native: 'ETH',
    blockMs: 2_000,
    ETH: OP_STACK_WETH,
    BTC: [token('WBTC', 8, '0x68f180fcCe6836688e9084f035309E29Bf0A2095')],
    USDC: token('USDC', 6, '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85'),
    USDT: [
      token('USDT', 6, '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58'),
      token('USDT0', 6, '0x01bFF41798a0BcF287b996046Ca68b395DbC1071'),
    ],
    isBtcAgainstEth: true,
    factories: [
      UNISWAP_V3,
      slipstream('velodrome-slipstream', '0xCc0bDDB707055e04e497aB22a59c2aF4391cd12F'),
      slipstream('velodrome-slipstream', '0xe13Dd1fbA721Aa81a1826D9523AC9BC7d260c879'),
    ],
    initialPools: [
      ['velodrome-slipstream', 'WETH', 'USDC', '0x478946BcD4a5a22b316470F5486fAfb928C0bA25'],
      ['uniswap-v3', 'WBTC', 'WETH', '0x85C31FFA3706d1cce9d525a00f1C7D4A2911754c'],
      ['velodrome-slipstream', 'USDC', 'USDT', '0x84Ce89B4f6F67E523A81A82f9f2F14D84B726F6B'],
    ],
  }),
  chainOf({
    chain: 'polygon',
    chainId: 137,
    native: 'POL',
    blockMs: 2_000,
    ETH: token('WETH', 18, '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619'),
    BTC: [token('WBTC', 8, '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6')],
    USDC: token('USDC', 6, '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'),
    USDT: [token('USDT0', 6, '0xc2132D05D31c914a87C6611C10748AEb04B58e8F')],
    isBtcAgainstEth: true,
    factories: [UNISWAP_V3],
    initialPools: [
      ['uniswap-v3', 'WETH', 'USDC', '0xA4D8c89f0c20efbe54cBa9e7e7a7E509056228D9'],
      ['uniswap-v3', 'WBTC', 'WETH', '0x50eaEDB835021E4A108B7290636d62E9765cc6d7'],
      ['uniswap-v3', 'USDC', 'USDT0', '0x31083a78E11B18e450fd139F9ABEa98CD53181B7'],
    ],
  }),
  chainOf({
    chain: 'bsc',
    chainId: 56,
    native: 'BNB',
    blockMs: 750,
    ETH: token('ETH', 18, '0x2170Ed0880ac9A755fd29B2688956BD959F933F8'),
    BTC: [token('BTCB', 18, '0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c')],
    // Stablecoins have 18 decimals on BNB Chain only.
    USDC: token('USDC', 18, '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'),
    USDT: [token('USDT', 18, '0x55d398326f99059fF775485246999027B3197955')],
    factories: [pancakeswapV3, uniswapV3('0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7')],
    initialPools: [
      ['pancakeswap-v3', 'ETH', 'USDT', '0xBe141893E4c6AD9272e8C04BAB7E6a10604501a5'],
      ['pancakeswap-v3', 'BTCB', 'USDT', '0x46Cf1cF8c69595804ba91dFdd8d6b960c9B0a7C4'],
      ['pancakeswap-v3', 'USDC', 'USDT', '0x92b7807bF19b7DDdf89b706143896d05228f3121'],
    ],
  }),
  chainOf({
    chain: 'avalanche',
    chainId: 43_114,
    native: 'AVAX',
    blockMs: 1_500,
    ETH: token('WETH.e', 18, '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB'),
    BTC: [token('BTC.b', 8, '0x152b9d0FdC40C096757F570A51E494bd4b943E50')],
    USDC: token('USDC', 6, '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E'),
    USDT: [token('USDT', 6, '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7')],
    factories: [uniswapV3('0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD')],
    initialPools: [
      ['uniswap-v3', 'WETH.e', 'USDC', '0x43fb9c3fd6715e872272B0CAAB968A97692726EB'],
      ['uniswap-v3', 'BTC.b', 'USDC', '0x2E587b9E7aA638d7EB7DB5fe7447513bC4D0D28B'],
      ['uniswap-v3', 'USDC', 'USDT', '0x804226cA4EDb38e7eF56D16d16E92dc3223347A0'],
    ],
  }),
]

type ChainRow = Pick<EvmChainConfig, 'chain' | 'chainId' | 'native' | 'blockMs' | 'factories'> & {
  readonly ETH: Token
  readonly BTC: readonly Token[]
  readonly USDC: Token
  readonly USDT: readonly Token[]
  /** For chains where BTC has no deep pool against a stablecoin. */
  readonly isBtcAgainstEth?: true
  readonly initialPools: readonly (readonly [
    dex: string,
    asset: string,
    quote: string,
    address: Address,
  ])[]
}

function chainOf({ ETH, BTC, USDC, USDT, isBtcAgainstEth, initialPools, ...config }: ChainRow) {
  const assets = [
    { asset: 'ETH' as const, assetToken: ETH },
    ...BTC.map((assetToken) => ({ asset: 'BTC' as const, assetToken })),
  ]
  const quotes = [USDC, ...USDT].map((quoteToken) => ({
    quote: quoteToken === USDC ? ('USDC' as const) : ('USDT' as const),
    quoteToken,
  }))
  const pairs: TokenPair[] = assets.flatMap((asset) =>
    quotes.map((quote) => ({ ...asset, ...quote })),
  )
  for (const quoteToken of USDT)
    pairs.push({ asset: 'USDC', assetToken: USDC, quote: 'USDT', quoteToken })
  if (isBtcAgainstEth === true)
    for (const assetToken of BTC)
      pairs.push({ asset: 'BTC', assetToken, quote: 'ETH', quoteToken: ETH })
  const pools = initialPools.map(([dex, asset, quote, address]): EvmPool => {
    const pair = pairs.find(
      ({ assetToken, quoteToken }) => assetToken.symbol === asset && quoteToken.symbol === quote,
    )
    if (pair === undefined) throw new Error(`${config.chain} has no pair ${asset}/${quote}`)
    return { ...pair, dex, address }
  })
  return { ...config, pairs, initialPools: pools } satisfies EvmChainConfig
}

function token(symbol: string, decimals: number, address: Address): Token {
  return { symbol, address, decimals }
}

/** Pools sort their tokens by address. */
export function pairOrder({ assetToken, quoteToken }: TokenPair): PairOrder {
  return {
    isAssetFirst: BigInt(assetToken.address) < BigInt(quoteToken.address),
    assetDecimals: assetToken.decimals,
    quoteDecimals: quoteToken.decimals,
  }
}
