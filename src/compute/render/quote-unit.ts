import { Type } from 'typebox'
import type { Warning } from '../../domain/document.ts'
import { isoInstant } from '../../domain/instant.ts'
import type { CoinMarket } from '../market/coin-market.ts'
import { nonNegative, nullable, oneOf, positive, text } from './answer-schema.ts'
import type { DocumentBuilder } from './document-builder.ts'
import { orNull, price, usd } from './significance.ts'

/** The name of a builder-deployed coin (HIP-3) begins with its dex and a colon. */
const DEX_OF_NAME = /^([^:]+):/

/** Dex and price unit of a builder-deployed coin. */
export const dexMembers = {
  dex: Type.Optional(
    Type.Object(
      {
        name: Type.String(),
        quote_unit: nullable(
          text('Collateral token, the unit of every price in this answer. null while unknown.'),
        ),
        usd_per_quote_unit: nullable(
          positive(
            'Conversion factor of the USD figures. null without a price source; they are then null.',
          ),
        ),
        usd_source: nullable(
          oneOf(
            ['par', 'venue_spot'],
            "par: USDC counts as USD. venue_spot: mid of the venue's spot pair with USDC.",
          ),
        ),
        usd_age_seconds: nullable(
          nonNegative('Age of usd_per_quote_unit, s. null for par and unknown.'),
        ),
        usd_pair_volume_24h_usd: nullable(
          nonNegative('24 h volume of that pair, USD. null for par and unknown.'),
        ),
        reference_price: Type.Literal('deployer_oracle', {
          description: "The dex's deployer sets the oracle price.",
        }),
        session_hours: Type.Null({
          description: 'The venue publishes none.',
        }),
      },
      { description: 'Present for a coin of a builder-deployed dex (HIP-3).' },
    ),
  ),
}

/** First members of an answer about one coin. */
export function coinMembers(builder: DocumentBuilder, coin: CoinMarket, renderedAtMs: number) {
  return {
    coin: coin.listing.coin,
    ...builder.memberSlot({ kind: 'requested-coin' }),
    timestamp_iso: isoInstant(renderedAtMs),
    ...dexOf(builder, coin),
  }
}

function dexOf(
  builder: DocumentBuilder,
  { listing, collateral }: CoinMarket,
): { readonly dex?: object } {
  const name = DEX_OF_NAME.exec(listing.coin)?.[1]
  if (name === undefined) return {}
  const { unit, usdPerUnit, source, confirmedAtMs, dayNotionalUsd } = collateral
  return {
    dex: {
      name,
      quote_unit: unit,
      usd_per_quote_unit: orNull(usdPerUnit, price),
      usd_source: source,
      usd_age_seconds: confirmedAtMs === null ? null : builder.slot({ kind: 'age', confirmedAtMs }),
      usd_pair_volume_24h_usd: orNull(dayNotionalUsd, usd),
      reference_price: 'deployer_oracle',
      session_hours: null,
    },
  }
}

/**
 * Converts an amount in a coin's price unit into USD.
 * @returns null for every amount while the unit has no USD price
 */
export function usdOf(
  { collateral: { usdPerUnit } }: CoinMarket,
  round: (value: number) => number = usd,
): (amount: number) => number | null {
  return (amount) => orNull(amount * usdPerUnit, round)
}

/** Warnings of an answer with USD figures of that coin. */
export function unitWarnings({ collateral }: CoinMarket): readonly Warning[] {
  return Number.isNaN(collateral.usdPerUnit) ? ['collateral_unpriced'] : []
}
