import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { claimText } from '../../domain/claim-text.ts'
import type { DocumentContract } from '../../domain/contract.ts'
import { timeframeMs } from '../../domain/timeframe.ts'
import type { Claim } from '../../domain/track-record.ts'
import type { MarketDocumentKind } from '../analysis.ts'
import { DocumentBuilder } from '../render/document-builder.ts'
import { claimKeeper } from './claim-keeper.ts'

const PERIOD_MS = 60_000

/** The shortest claims are open for their horizon and the bar after it, 30 minutes; the log reads this every 15 s. */
const RECENT_MS = timeframeMs['1h'] + timeframeMs['15m']

const DEFAULT_VIEW = 'default'

const MadeClaims = Type.Object({ sha256: Type.Array(Type.String()) })

export const madeClaimsContract: DocumentContract & { readonly scope: 'market' } = {
  id: 'made-claims',
  scope: 'market',
  document: MadeClaims,
  defaultView: DEFAULT_VIEW,
  viewParameters: [],
}

/**
 * SHA-256 of every open claim of the last 75 minutes, for the proof log of the gateways: a claim is in an hour that began
 * before its outcome was known. As a document it reaches every gateway, and again after a restart. It is not served.
 */
export const madeClaimsDocument: MarketDocumentKind<readonly Claim[]> = {
  contract: madeClaimsContract,
  periodMs: PERIOD_MS,

  gather: (market) => market.of(claimKeeper).madeAfter(market.venueMs - RECENT_MS),

  render(claims, rendering) {
    const builder = new DocumentBuilder()
    const sha256 = claims.map((claim) => hash('sha256', claimText(claim), 'base64url'))
    builder.answer(DEFAULT_VIEW, [builder.value({ sha256 })], {
      ...{ inputs: [], coveragePct: 100, warnings: [] },
    })
    return builder.build({ ...rendering, nextUpdateMs: rendering.renderedAtMs + PERIOD_MS })
  },
}
