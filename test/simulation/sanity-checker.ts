import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { LiquidationsAnswer } from '../../src/compute/analyses/liquidations/liquidations-schema.ts'
import { contracts } from '../../src/compute/analyses/registry.ts'
import type { Priced } from '../../src/compute/testing/priced.ts'
import type { FaultLog } from './fault-log.ts'
import type { Findings } from './findings.ts'
import { inputAgeMsMax } from './promises.ts'
import type { Answered, Body, Unreadable } from './reading.ts'
import { statedAgeMs } from './reading.ts'

type LiquidationsBody = Priced<Static<typeof LiquidationsAnswer>>

const DETAIL_LENGTH_MAX = 800

/** Every answer satisfies its schema, contains no impossible figure, and uses no input that is too old for sale. */
export class SanityChecker {
  readonly #findings: Findings
  readonly #log: FaultLog

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  /** @param asked the requested coin */
  check(answered: Answered, asked: string): void {
    const { analysis, coin, body, text, trueMs } = answered
    const schema = schemas.get(analysis)
    const fault =
      schema === undefined
        ? `no schema of ${analysis}`
        : schema.Check(body)
          ? impossibility(analysis, asked, body)
          : `schema: ${JSON.stringify([...schema.Errors(body)][0])}`
    const found = fault ?? staleness(answered)
    if (found !== null) this.#violation(analysis, coin, trueMs, `${found} in ${text}`)
  }

  unreadable({ analysis, coin, text }: Unreadable, atMs: number): void {
    this.#violation(analysis, coin, atMs, `no JSON: ${text}`)
  }

  #violation(analysis: string, coin: string, atMs: number, detail: string): void {
    this.#findings.violation({
      checker: 'sanity',
      atMs,
      coin,
      what: `an answer that cannot be: ${analysis}`,
      detail: detail.slice(0, DETAIL_LENGTH_MAX),
      during: this.#log.kindsBetween(atMs - 60_000, atMs, coin),
    })
  }
}

const schemas = new Map(contracts.map(({ id, document }) => [id, Compile(document)] as const))

/** Whole-market answers, which name no coin. */
const ofWholeMarket = new Set(
  contracts.filter(({ scope }) => scope === 'market').map(({ id }) => id),
)

/** Names of prices and of open interest, which must be positive. */
const PRICES =
  /^(current|mid_price|best_bid|best_ask|ema_\d+|vwap_20|middle|impact_bid|impact_ask)$/

/** Names of spreads of one book. */
const SPREADS = /^(spread_bps|bid_ask_bps)$/

function impossibility(analysis: string, asked: string, body: Body): string | null {
  if (!ofWholeMarket.has(analysis) && body.coin !== asked)
    return `the answer is about ${body.coin}, not ${asked}`
  const { spread } = body
  if (spread !== undefined && spread.best_bid >= spread.best_ask) return 'a crossed book'
  return (analysis === 'liquidations' ? overfullSide(body) : null) ?? badFigure(body)
}

/** Every contract has one long and one short, so no side of the map exceeds the open interest. */
function overfullSide(body: Body): string | null {
  const { zones, below_3x, beyond, without_liquidation_price_usd, summary } =
    body as unknown as LiquidationsBody
  for (const side of ['longs', 'shorts'] as const) {
    const sumUsd =
      zones[side].reduce((sum, { estimated_notional }) => sum + estimated_notional, 0) +
      below_3x[side].notional_usd +
      beyond[side].notional_usd +
      without_liquidation_price_usd[side]
    if (sumUsd > summary.open_interest_usd) return `${side} of ${sumUsd} USD`
  }
  return null
}

/** An input that is too old for sale. */
function staleness(answered: Answered): string | null {
  for (const [input, limitMs] of Object.entries(inputAgeMsMax[answered.analysis] ?? {})) {
    const ageMs = statedAgeMs(answered, input)
    if (ageMs === undefined) return `no age of ${input}`
    if (ageMs > limitMs) return `${input} of ${ageMs} ms ago`
  }
  return null
}

function badFigure(value: object): string | null {
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'number' && PRICES.test(name) && member <= 0)
      return `${name} is ${member}`
    // A crossed book has a negative spread.
    if (typeof member === 'number' && SPREADS.test(name) && member < 0)
      return `${name} is ${member}`
    if (typeof member === 'number' && !Number.isFinite(member)) return `${name} is ${member}`
    const inner = typeof member === 'object' && member !== null ? badFigure(member) : null
    if (inner !== null) return inner
  }
  return null
}
