import { Compile } from 'typebox/compile'
import { contracts } from '../../src/compute/analyses/registry.ts'
import type { FaultLog } from './fault-log.ts'
import type { Findings } from './findings.ts'
import type { Answered, Body, Unreadable } from './reading.ts'

const DETAIL_LENGTH_MAX = 800

/** Every answer satisfies its schema, and shows no figure that no market has. */
export class SanityChecker {
  readonly #findings: Findings
  readonly #log: FaultLog

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  check({ analysis, coin, body, text, trueMs }: Answered): void {
    const schema = schemas.get(analysis)
    const fault =
      schema === undefined
        ? `no schema of ${analysis}`
        : schema.Check(body)
          ? impossibility(analysis, coin, body)
          : `schema: ${JSON.stringify([...schema.Errors(body)][0])}`
    if (fault !== null) this.#violation(analysis, coin, trueMs, `${fault} in ${text}`)
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

/** Their answers are about all coins and name none. */
const ofWholeMarket = new Set(
  contracts.filter(({ scope }) => scope === 'market').map(({ id }) => id),
)

/** Names of figures that are prices, or the open interest, of which every coin here has some: above nothing. */
const PRICES =
  /^(current|mid_price|best_bid|best_ask|ema_\d+|vwap_20|middle|impact_bid|impact_ask)$/

function impossibility(analysis: string, coin: string, body: Body): string | null {
  if (!ofWholeMarket.has(analysis) && body.coin !== coin) return `the answer is about ${body.coin}`
  const { spread } = body
  if (spread !== undefined && spread.best_bid >= spread.best_ask) return 'a crossed book'
  return badFigure(body)
}

function badFigure(value: object): string | null {
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'number' && PRICES.test(name) && member <= 0)
      return `${name} is ${member}`
    if (typeof member === 'number' && !Number.isFinite(member)) return `${name} is ${member}`
    const inner = typeof member === 'object' && member !== null ? badFigure(member) : null
    if (inner !== null) return inner
  }
  return null
}
