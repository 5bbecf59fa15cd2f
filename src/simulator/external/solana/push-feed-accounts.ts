import type { Address } from '@solana/kit'
import { address } from '@solana/kit'
import { hexToBytes } from 'viem'
import type { ReferencePrices } from '../reference-prices.ts'
import { TriggeredRounds } from '../triggered-rounds.ts'
import type { StoredAccount } from './account-layouts.ts'
import { priceUpdateData } from './account-layouts.ts'
import { programAddress, seedOf } from './program-address.ts'

/** The program that derives the accounts, and the one that owns them. */
const UPGRADED = {
  program: address('pyt2F414BA6dPttK6RddPZUdHfapoBN24GL5wbrPCou'),
  receiver: address('rec2HHDDnjLfj4kE7VyEtFA1HPGQLK33259532cRyHp'),
}
const OLD = {
  program: address('pythWSnswVUd12oZpeFP8e9CVaEqJg25g1Vtc2biRsT'),
  receiver: address('rec5EKMGg6MxZYaMdyBfgwp4d5rB9T1VQH5pJv5LtFJ'),
}

const SOURCE = 'pyth-solana'
const BPS = 1e-4
/** Schedule of the pusher; the feeds are spread over the heartbeat. */
const CHECK_MS = 5_000
const HEARTBEAT_MS = 60_000
const TRIGGER_BPS = 50
const PHASE_STEP_MS = 4_000
/** The accounts of the old program are updated daily, with partial verification. */
const OLD_HEARTBEAT_MS = 86_400_000
const OLD_SIGNATURES = 5
/** Asset, exponent of its numbers, feed id. */
const feeds: readonly (readonly [asset: string, exponent: number, id: `0x${string}`])[] = [
  ['BTC', -8, '0xe62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43'],
  ['ETH', -8, '0xff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace'],
  ['SOL', -8, '0xef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d'],
  ['USDC', -8, '0xeaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a'],
  ['USDT', -8, '0x2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b'],
  ['JUP', -8, '0x0a0408d619e9380abad35060f9192039ed5042fa6f82301d0e48bb52be830996'],
  ['BONK', -10, '0x72b021217ca3fe68922a19aaf990109cb9d84e9ad004b4d2025ad6f529314419'],
  ['WIF', -8, '0x4ca4beeca86f0d164160323817a4e42b10010a724c2217c6ee41b54cd4cc61fc'],
  ['PENGU', -8, '0xbed3097008b9b5e3c93bec20be79cb43986b85a996475589351a21e67bae9b61'],
  ['TRUMP', -8, '0x879551021853eec7a7dc827578e8e69da7e4fa8148339aa0d3d5296405be4b1a'],
  ['FARTCOIN', -8, '0x58cd29ef0e714c5affc44f269b2c1899a52da4169d7acc147b9da692e6953608'],
  ['PUMP', -10, '0x7a01fca212788bba7c5bf8c9efd576a8a722f070d2c17596ff7bb609b8d5c3b9'],
  ['PYTH', -8, '0x0bbf28e9a841a1cc788f6a361b17ca072d0ea3098a1e5df1c3922d06719579ff'],
  ['W', -8, '0xeff7446475e218517566ea99e72a4abec2e1bd8498b43b7d8331e29dcb059389'],
  ['MEW', -10, '0x514aed52ca5294177f20187ae883cec4a018619772ddce41efcc36a6448f5d5d'],
]

type FeedAccount = {
  readonly address: Address
  readonly owner: Address
  readonly asset: string
  readonly exponent: number
  readonly id: Uint8Array
  readonly signatures: number | 'full'
  readonly rounds: TriggeredRounds
}

/** The price accounts of Pyth's push oracle, of both programs. */
export class PushFeedAccounts {
  readonly #reference: ReferencePrices
  readonly #slotAt: (atMs: number) => number
  readonly #account = new Map<string, FeedAccount>()

  constructor(reference: ReferencePrices, slotAt: (atMs: number) => number) {
    this.#reference = reference
    this.#slotAt = slotAt
    for (const [at, [asset, exponent, id]] of feeds.entries()) {
      const seen = (atMs: number) => reference.seenUsd(SOURCE, asset, atMs)
      const feed = { asset, exponent, id: hexToBytes(id) }
      const phaseMs = at * PHASE_STEP_MS
      const beat = { seen, triggerBps: TRIGGER_BPS, heartbeatMs: HEARTBEAT_MS, checkMs: CHECK_MS }
      const daily = { heartbeatMs: OLD_HEARTBEAT_MS, checkMs: OLD_HEARTBEAT_MS }
      this.#add(UPGRADED, feed, 'full', new TriggeredRounds({ ...beat, phaseMs }))
      this.#add(OLD, feed, OLD_SIGNATURES, new TriggeredRounds({ ...beat, ...daily, phaseMs }))
    }
  }

  /** null for an address without feed, and while the network is dead. */
  at(key: string, atMs: number): StoredAccount | null {
    const account = this.#account.get(key)
    if (account === undefined || this.#reference.isDead(SOURCE, atMs)) return null
    const newest = account.rounds.at(this.#reference.newestMs(SOURCE, atMs))
    if (newest === undefined) return null
    const { asset, exponent, id, signatures, address, owner } = account
    const confidence = this.#reference.confidenceBps(SOURCE, asset, newest.atMs) * BPS
    const emaUsd = this.#reference.averageUsd(SOURCE, asset, newest.atMs) ?? newest.priceUsd
    const units = (usd: number) => BigInt(Math.round(usd / 10 ** exponent))
    const publishTime = Math.floor(newest.atMs / 1_000)
    const data = priceUpdateData(address, signatures, {
      ...{ id, exponent, publishTime },
      price: units(newest.priceUsd),
      confidence: units(newest.priceUsd * confidence),
      publishTimeBefore: publishTime - 1,
      emaPrice: units(emaUsd),
      emaConfidence: units(emaUsd * confidence),
      postedSlot: this.#slotAt(newest.atMs),
    })
    return { owner, data }
  }

  #add(
    { program, receiver }: { readonly program: Address; readonly receiver: Address },
    feed: Pick<FeedAccount, 'asset' | 'exponent' | 'id'>,
    signatures: number | 'full',
    rounds: TriggeredRounds,
  ): void {
    const { address } = programAddress(program, [seedOf(0), feed.id])
    this.#account.set(address, { ...feed, address, owner: receiver, signatures, rounds })
  }
}
