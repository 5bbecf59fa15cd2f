import type { PoolEvent } from '../../../domain/external.ts'

type Mint = { readonly address: string; readonly decimals: number }

/** Two tokens in the order of Orca's pools, by the bytes of their mints; in all of these the asset is first. */
export type WhirlpoolPair = Pick<PoolEvent, 'asset' | 'representation' | 'quote'> & {
  readonly assetMint: Mint
  readonly quoteMint: Mint
  /** The possible addresses of its pools, in the order of {@link TICK_SPACINGS}. */
  readonly candidates: readonly string[]
}

/** A pool of a pair, and the account with its quote tokens. */
export type OrcaPool = {
  readonly pair: WhirlpoolPair
  readonly address: string
  readonly quoteVault: string
}

/** Of pools with a static fee. */
export const TICK_SPACINGS = [1, 2, 4, 8, 16, 64, 128] as const

export const WHIRLPOOL_PROGRAM = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'
/** Orca's configuration account, to which all listed pools belong. */
export const WHIRLPOOLS_CONFIG = '2LecshUwdy9xi7meFgHtFJQNSKk4KdTrcpvaB56dP2NQ'

const USDC = { address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6 }
const USDT = { address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 }

/** The candidates are derived from config, mints and tick spacing; a test derives them again. */
export const whirlpoolPairs: readonly WhirlpoolPair[] = [
  {
    ...{ asset: 'ETH', representation: 'WETH (Wormhole)', quote: 'USDC' },
    assetMint: { address: '7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs', decimals: 8 },
    quoteMint: USDC,
    candidates: [
      '7AeYdndvQykhqHbgqHCSUWUATAm7G7mTGAUzTbyF3DJK',
      'BQHaBq84a1HeQYBpxLZ2nZdbJW3rdyjfyWoPN2V8i5jA',
      '6owXG3mKB2Dwfn2XNpK1AWcHj9kHpH2LFgnEykCorvYA',
      'AU971DrPyhhrpRnmEBp5pDTWL2ny7nofb5vYBjDJkR2E',
      'DdZSXWVoX5U2Cugbvb7w8m7ZdSDfUniGMjeQBs9AtPtH',
      'E5KuHFnU2VuuZFKeghbTLazgxeni4dhQ7URE4oBtJju2',
      '3PREk6SjhQ2EBhYMHf8Ksg4VX1W8uRxjJNvBjcPBrgVP',
    ],
  },
  {
    ...{ asset: 'BTC', representation: 'cbBTC', quote: 'USDC' },
    assetMint: { address: 'cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij', decimals: 8 },
    quoteMint: USDC,
    candidates: [
      '5HhoV8th1ge2vZsMuGBVk3ogss2zRwUx8pjvM94Vsuyv',
      '4moNYAbXThepAZfTrJUXpFibtKG7aU2Kc6M6BLR9uPmn',
      'HxA6SKW5qA4o12fjVgTpXdq2YnZ5Zv1s7SB4FFomsyLM',
      'CduuxXAVk9WNuwZqZJqU2pB7yf3RHR7SoSFvcWARmLeg',
      'DNEaxopF1yu6zJpNBMkLEkDyd7DQpWUtpY3nsXTy8yUh',
      'FGsHkU9hN8rNjdMYU6sS3LLHDLAntMzWi9UpLnJwqpSK',
      '7QrgWghwPiBDEcLVU3d431LQXou36DjkUyGYqixWQ6PA',
    ],
  },
  {
    ...{ asset: 'SOL', representation: 'SOL', quote: 'USDC' },
    assetMint: { address: 'So11111111111111111111111111111111111111112', decimals: 9 },
    quoteMint: USDC,
    candidates: [
      '83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d',
      'FpCMFDFGYotvufJ7HrFHsWEiiQCGbkLCtwHiDnh7o28Q',
      'Czfq3xZZDmsdGdUyrNLtRhGc47cXcZtLG4crryfu44zE',
      '7qbRF6YsyGuLUVs6Y1q64bdVrfe4ZcUUz1JRdoVNUJnm',
      '21gTfxAnhUDjJGZJDkTXctGFKT8TeiXx6pN1CEg9K1uW',
      'HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ',
      'DFVTutNYXD8z4T5cRdgpso1G3sZqQvMHWpW2N99E4DvE',
    ],
  },
  {
    ...{ asset: 'USDC', representation: 'USDC', quote: 'USDT' },
    assetMint: USDC,
    quoteMint: USDT,
    candidates: [
      '4fuUiYxTQ6QCrdSq9ouBYcTM7bqSwYTSyLueGZLTy4T4',
      'FPPHjpjBk98pd5Z3xXQuDcrZdUdqfraCRJU8yvdT1ZKR',
      'ELqXddRqcnRJXQnqZdPwBXEEBpQ6SEbCQrBe12wpHBU',
      'CxF3jKhGrauHQjFk8L5XUkLTjmeLFqHUYHLCYYSautMC',
      '9KoVVwD35mBX9MCmazS9XFZcH4TjjvqhkZMNr5KCq3X5',
      '6apMj56v2L2YcKojA56o2yXD4LZv7jG7WnhCpyim15AV',
      '42mLWM77cZZCsK5HC7sYuLt1vYF4F7EWPNB45sZa2H1c',
    ],
  },
]
