import type { Document, DocumentKey } from '../../domain/document.ts'
import { bytesOf } from '../../domain/document-bytes.ts'
import type { EngineMessage } from '../message.ts'
import { STORE_OK } from './store-ok.ts'

/** Of an engine without feeds. */
export const HEARTBEAT: EngineMessage = {
  kind: 'heartbeat',
  heartbeat: { startedAtMs: 0, feeds: [], sources: [], store: STORE_OK, counts: {} },
}

export function universeOf(coins: readonly string[]): EngineMessage {
  const marginTiers = [{ lowerBoundUsd: 0, maxLeverage: 3 }]
  const listings = coins.map((coin) => ({
    ...{ coin, sizeDecimals: 2, maxLeverage: 3, marginTiers, isDelisted: false },
  }))
  return { kind: 'universe', listings }
}

/** A document with one slot, and with an answer in the view `1h,4h`. */
export function answeredDocument(
  key: DocumentKey,
  version: number,
  renderedAtMs: number,
  text: string,
): Document {
  const bytes = new Uint8Array(Buffer.from(text))
  return {
    ...{ key, version, renderedAtMs, bytes },
    parts: [{ kind: 'text', start: 0, end: bytes.length }, { kind: 'freshness' }],
    views: {
      '1h,4h': { kind: 'answer', parts: [0, 1], inputs: [], coveragePct: 100, warnings: [] },
    },
  }
}

/** The members that a reader uses, in the same form for every class of document. */
export function membersOf(document: Document) {
  const { key, version, renderedAtMs, nextUpdateMs, parts, views, numbered } = document
  const text = Buffer.from(bytesOf(document)).toString('latin1')
  return { key, version, renderedAtMs, nextUpdateMs, text, parts, views, numbered }
}
