import type { Address, Hex } from 'viem'

export type PythFeed = {
  readonly asset: string
  readonly id: Hex
  /** Deviation threshold of Pyth's pusher. */
  readonly resolutionBps: number
}

export const MONAD_CHAIN_ID = 143
/** Longest time between two updates of a feed. */
export const PYTH_PUSH_HEARTBEAT_MS = 3_600_000

/** The contract that was upgraded in place in 2026, and the deployment of the upgrade before that. */
export const pythContracts: readonly Address[] = [
  '0x2880aB155794e7179c9eE2e38200202908C17B43',
  '0xB754BA51E3861Ac0Cb67f73CD046dE790A36508d',
]

type Row = readonly [asset: string, resolutionBps: number, id: Hex]

/** Sponsored feeds on Monad of assets that the venue lists: https://docs.pyth.network/price-feeds/core/push-feeds */
const rows: readonly Row[] = [
  ['BTC', 10, '0xe62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'],
  ['ETH', 10, '0xff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace'],
  ['SOL', 10, '0xef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'],
  ['USDC', 20, '0xeaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a'],
  ['USDT', 20, '0x2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b'],
  ['SUI', 20, '0x23d7315113f5b1d3ba7a83604c44b94d79f4fd69af77f804fc7f920a6dc65744'],
  ['HYPE', 20, '0x4279e31cc369bbcc2faf022b382b080e32a8e689ff20fbc530d2a603eb6cd98b'],
  ['XRP', 20, '0xec5d399846a9209f3fe5881d70aae9268c94339ff9817e8d18ff19fa05eea1c8'],
  ['BNB', 20, '0x2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f'],
  ['ADA', 20, '0x2a01deaec9e51a579277b34b122399984d0bbf57e2458a7e42fecd2829867a0d'],
  ['APT', 20, '0x03ae4db29ed4ae33d323568895aa00337e658e348b37509f5372ae51f0af00d5'],
  ['SEI', 20, '0x53614f1cb0c031d4af66c04cb9c756234adad0e1cee85303795091499a4084eb'],
  ['AVAX', 20, '0x93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7'],
  ['TIA', 20, '0x09f7c1d7dfbb7df2b8fe3d3d87ee94a2259d212da4f30c1f0540d066dfa44723'],
  ['POL', 20, '0xffd11c5a1cfd42f80afb2df4d9f264c15f956d68153335374ec10722edd70472'],
  ['BERA', 20, '0x962088abcfdbdb6e30db2e340c8cf887d9efb311b1f2f17b155a63dbb6d40265'],
  ['S', 20, '0xf490b178d0c85683b7a0f2388b40af2e6f7c90cbe0f96b31f315f08d0e5a2d6d'],
  ['DOGE', 20, '0xdcef50dd0a4cd2dcc17e45df1676dcb336a11a61c69df7a0299b0150c672d25c'],
  ['OP', 20, '0x385f64d993f7b77d8182ed5003d97c60aa3361f3cecfe711544d2d59165e9bdf'],
  ['ARB', 20, '0x3fa4252848f9f0a1480be62745a4629d9eb1322aebab8a791e344b3b9c1adcf5'],
  ['PYTH', 20, '0x0bbf28e9a841a1cc788f6a361b17ca072d0ea3098a1e5df1c3922d06719579ff'],
  ['CAKE', 20, '0x2356af9529a1064d41e32d617e2ce1dca5733afa901daba9e2b68dee5d53ecf9'],
  ['LINK', 20, '0x8ac0c70fff57e9aefdf5edf44b51d62c2d433653cbb2cf5cc06bb115af04d221'],
  ['UNI', 20, '0x78d185a741d07edb3412b09008b7c5cfb9bbbd7d568bf00ba737b456ba171501'],
  ['AAVE', 20, '0x2b9ab1e972a281585084148ba1389800799bd4be63b957507db1349314e47445'],
  ['W', 20, '0xeff7446475e218517566ea99e72a4abec2e1bd8498b43b7d8331e29dcb059389'],
  ['ZRO', 20, '0x3bd860bea28bf982fa06bcf358118064bb114086cc03993bd76197eaab0b8018'],
]

export const pythFeeds: readonly PythFeed[] = rows.map(([asset, resolutionBps, id]) => ({
  asset,
  id,
  resolutionBps,
}))
