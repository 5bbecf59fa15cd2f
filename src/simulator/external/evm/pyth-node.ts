import type { Abi, Hex } from 'viem'
import { encodeErrorResult, parseAbi } from 'viem'
import type { ReferencePrices } from '../reference-prices.ts'
import type { PushRound } from '../triggered-rounds.ts'
import { TriggeredRounds } from '../triggered-rounds.ts'
import type { NewUpstream } from '../upstream.ts'
import type { Contract } from './contract.ts'
import { contract, Revert } from './contract.ts'
import { evmRpc, heightAt } from './evm-rpc.ts'
import { addMulticall3 } from './multicall3.ts'

const abi: Abi = parseAbi([
  'struct Price { int64 price; uint64 conf; int32 expo; uint256 publishTime; }',
  'function getPriceUnsafe(bytes32 id) view returns (Price price)',
  'function getEmaPriceUnsafe(bytes32 id) view returns (Price price)',
])
const errorAbi = parseAbi(['error PriceFeedNotFound()'])

/** Two deployments, as on Monad: the first one is only updated at heartbeats here. */
const CONTRACT = '0x2880ab155794e7179c9ee2e38200202908c17b43'
const TWIN = '0xb754ba51e3861ac0cb67f73cd046de790a36508d'

const MONAD = { chainId: 143, blockMs: 400 }
const MONAD_GAS_WEI = 50_000_000_000n
const EXPO = -8
const BPS = 1e-4
/** A quarter of Pyth's heartbeat, which shortens the search for the newest round. */
const HEARTBEAT_MS = 900_000
const PHASE_STEP_MS = 30_000
/** Asset, deviation threshold in bps, period of the pusher in seconds, feed id. */
const feeds: readonly (readonly [string, number, number, Hex])[] = [
  ['BTC', 10, 20, '0xe62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'],
  ['ETH', 10, 20, '0xff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace'],
  ['SOL', 10, 20, '0xef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'],
  ['USDC', 20, 20, '0xeaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a'],
  ['USDT', 20, 20, '0x2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b'],
  ['SUI', 20, 60, '0x23d7315113f5b1d3ba7a83604c44b94d79f4fd69af77f804fc7f920a6dc65744'],
  ['HYPE', 20, 60, '0x4279e31cc369bbcc2faf022b382b080e32a8e689ff20fbc530d2a603eb6cd98b'],
  ['XRP', 20, 60, '0xec5d399846a9209f3fe5881d70aae9268c94339ff9817e8d18ff19fa05eea1c8'],
  ['BNB', 20, 60, '0x2f95862b045670cd22bee3114c39763a4a08beeb663b145d283c31d7d1101c4f'],
  ['ADA', 20, 60, '0x2a01deaec9e51a579277b34b122399984d0bbf57e2458a7e42fecd2829867a0d'],
  ['APT', 20, 60, '0x03ae4db29ed4ae33d323568895aa00337e658e348b37509f5372ae51f0af00d5'],
  ['SEI', 20, 60, '0x53614f1cb0c031d4af66c04cb9c756234adad0e1cee85303795091499a4084eb'],
  ['AVAX', 20, 60, '0x93da3352f9f1d105fdfe4971cfa80e9dd777bfc5d0f683ebb6e1294b92137bb7'],
  ['TIA', 20, 60, '0x09f7c1d7dfbb7df2b8fe3d3d87ee94a2259d212da4f30c1f0540d066dfa44723'],
  ['POL', 20, 60, '0xffd11c5a1cfd42f80afb2df4d9f264c15f956d68153335374ec10722edd70472'],
  ['BERA', 20, 60, '0x962088abcfdbdb6e30db2e340c8cf887d9efb311b1f2f17b155a63dbb6d40265'],
  ['S', 20, 60, '0xf490b178d0c85683b7a0f2388b40af2e6f7c90cbe0f96b31f315f08d0e5a2d6d'],
  ['DOGE', 20, 60, '0xdcef50dd0a4cd2dcc17e45df1676dcb336a11a61c69df7a0299b0150c672d25c'],
  ['OP', 20, 60, '0x385f64d993f7b77d8182ed5003d97c60aa3361f3cecfe711544d2d59165e9bdf'],
  ['ARB', 20, 60, '0x3fa4252848f9f0a1480be62745a4629d9eb1322aebab8a791e344b3b9c1adcf5'],
  ['PYTH', 20, 60, '0x0bbf28e9a841a1cc788f6a361b17ca072d0ea3098a1e5df1c3922d06719579ff'],
  ['CAKE', 20, 60, '0x2356af9529a1064d41e32d617e2ce1dca5733afa901daba9e2b68dee5d53ecf9'],
  ['LINK', 20, 60, '0x8ac0c70fff57e9aefdf5edf44b51d62c2d433653cbb2cf5cc06bb115af04d221'],
  ['UNI', 20, 60, '0x78d185a741d07edb3412b09008b7c5cfb9bbbd7d568bf00ba737b456ba171501'],
  ['AAVE', 20, 60, '0x2b9ab1e972a281585084148ba1389800799bd4be63b957507db1349314e47445'],
  ['W', 20, 60, '0xeff7446475e218517566ea99e72a4abec2e1bd8498b43b7d8331e29dcb059389'],
  ['ZRO', 20, 60, '0x3bd860bea28bf982fa06bcf358118064bb114086cc03993bd76197eaab0b8018'],
]

/** A node of Monad with two Pyth contracts. */
export const pythNode: NewUpstream = (reference, clock) => {
  const published = new PushedFeeds(reference)
  const contracts = new Map<string, Contract>([
    [CONTRACT, pythContract(published, (rounds, atMs) => rounds.beat(atMs))],
    [TWIN, pythContract(published, (rounds, atMs) => rounds.at(atMs))],
  ])
  const blockNumber = (atMs: number) => heightAt(atMs, MONAD.blockMs)
  addMulticall3({ chainId: MONAD.chainId, blockNumber, contracts })
  return evmRpc({
    ...MONAD,
    nowMs: () => reference.newestMs('pyth-evm', clock.nowMs()),
    gasPriceWei: () => MONAD_GAS_WEI,
    contracts,
  })
}

type NewestOf = (rounds: TriggeredRounds, atMs: number) => PushRound | undefined

function pythContract(published: PushedFeeds, newestOf: NewestOf): Contract {
  const roundOf = (id: unknown, blockMs: number) => {
    const feed = published.feed(String(id))
    const round = feed && newestOf(feed.rounds, blockMs)
    if (feed === undefined || round === undefined) throw new Revert({ data: notFound() })
    return { asset: feed.asset, round }
  }
  return contract(abi, {
    getPriceUnsafe: ([id], blockMs) => {
      const { asset, round } = roundOf(id, blockMs)
      return published.priceOf(asset, round.priceUsd, round.atMs)
    },
    getEmaPriceUnsafe: ([id], blockMs) => {
      const { asset, round } = roundOf(id, blockMs)
      return published.priceOf(asset, published.emaUsd(asset, round), round.atMs)
    },
  })
}

class PushedFeeds {
  readonly #reference: ReferencePrices
  readonly #feeds: ReadonlyMap<string, { readonly asset: string; readonly rounds: TriggeredRounds }>

  constructor(reference: ReferencePrices) {
    this.#reference = reference
    this.#feeds = new Map(
      feeds.map(([asset, triggerBps, checkSeconds, id], index) => {
        const rounds = new TriggeredRounds({
          seen: (atMs) => reference.seenUsd('pyth-evm', asset, atMs),
          triggerBps,
          heartbeatMs: HEARTBEAT_MS,
          checkMs: checkSeconds * 1_000,
          phaseMs: index * PHASE_STEP_MS,
        })
        return [id, { asset, rounds }]
      }),
    )
  }

  feed(id: string) {
    return this.#feeds.get(id.toLowerCase())
  }

  emaUsd(asset: string, { atMs, priceUsd }: PushRound): number {
    return this.#reference.averageUsd('pyth-evm', asset, atMs) ?? priceUsd
  }

  priceOf(asset: string, priceUsd: number, publishedMs: number) {
    const confidenceBps = this.#reference.confidenceBps('pyth-evm', asset, publishedMs)
    const units = (usd: number) => BigInt(Math.round(usd / 10 ** EXPO))
    return {
      price: units(priceUsd),
      conf: units(priceUsd * confidenceBps * BPS),
      expo: EXPO,
      publishTime: BigInt(Math.floor(publishedMs / 1_000)),
    }
  }
}

function notFound(): Hex {
  return encodeErrorResult({ abi: errorAbi, errorName: 'PriceFeedNotFound' })
}
