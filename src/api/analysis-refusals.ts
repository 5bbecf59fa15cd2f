import type { AnalysisContract } from '../domain/contract.ts'
import { pathParameterOf } from '../domain/contract.ts'
import type { NoAnswer } from '../domain/document.ts'
import { isoInstant } from '../domain/instant.ts'
import { similarCoins } from '../domain/listing.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { CheckedSales } from '../payment/sales-readiness.ts'
import type { InvalidEcho, Quality } from './answer-preview.ts'
import type { Overdue } from './freshness.ts'
import type { Refusal } from './send-problem.ts'
import { refusal } from './send-problem.ts'

export const MAINTENANCE_RETRY_SECONDS = 3600
/** The engine restarts, and a feed reconnects, within seconds. */
const RETRY_SECONDS = 5
/** History is loaded coin by coin, for minutes. */
const WARMING_RETRY_SECONDS = 15
/** The predicted instant is an upper bound: another source may supply the data earlier. */
const WARMING_RETRY_SECONDS_MAX = 3600

export function underMaintenance(): Refusal {
  return refusal('maintenance', {
    detail:
      'Paid analyses are disabled for maintenance; /health and /coins remain available. Nothing was charged.',
    retryAfterSeconds: MAINTENANCE_RETRY_SECONDS,
  })
}

/** null while the engine is available. */
export function engineRefusal(engine: EngineReader, nowMs: number): Refusal | null {
  const state = engine.state(nowMs)
  switch (state) {
    case 'available':
      return null
    case 'silent':
      return passing('engine_timeout', 'The analysis engine has not responded for 15 s.')
    case 'unavailable':
      // A restart of the service is no fault: it loads its documents within seconds.
      return engine.isStarting
        ? passing('data_stale', 'The analysis engine is starting.')
        : passing('engine_unavailable', 'The analysis engine is not running.')
    default:
      return state satisfies never
  }
}

export function unknownCoin(
  contract: AnalysisContract,
  ticker: string,
  coins: readonly string[],
): Refusal {
  if (coins.length === 0) return passing('data_stale', 'The list of coins is not loaded yet.')
  const fault =
    ticker.trim() === ''
      ? 'The coin is missing.'
      : `No perpetual is listed as ${JSON.stringify(ticker)}.`
  return refusal('invalid_coin', {
    detail: `${fault} GET /coins lists all tickers.`,
    param: pathParameterOf(contract),
    didYouMean: similarCoins(ticker, coins),
  })
}

export function notComputed({ id, scope }: AnalysisContract, coin: string): Refusal {
  const answer = scope === 'coin' ? `/${id} of ${coin}` : `/${id}`
  return passing('data_stale', `${answer} has not been computed yet.`)
}

export function unknownAge(): Refusal {
  return passing(
    'data_stale',
    'The server clock was corrected; data ages are unavailable until fresh data arrives.',
  )
}

/** @param subject as of {@link noAnswer} */
export function tooOld({ input, ageMs, ageMsMax }: Overdue, subject: string): Refusal {
  const what = input === null ? 'The answer' : `The input ${input} of ${subject}`
  const ageSeconds = Math.ceil(ageMs / 1000)
  return passing('data_stale', `${what} is ${ageSeconds} s old; the limit is ${ageMsMax / 1000} s.`)
}

/** @param subject the coin, or words for the whole market */
export function noAnswer(
  contract: AnalysisContract,
  view: NoAnswer,
  subject: string,
  nowMs: number,
): Refusal {
  switch (view.kind) {
    case 'insufficient-candles': {
      const { timeframe, have, need } = view
      return refusal('insufficient_candles', {
        detail: `${subject} has ${have} closed ${timeframe} candles; ${need} are required. Nothing was charged.`,
        more: { timeframe, have, need },
      })
    }
    case 'missing-input': {
      const input = capitalised(view.input.replaceAll('_', ' '))
      return passing(
        'data_stale',
        view.detail ?? `${input} of ${subject} has not been received from Hyperliquid yet.`,
      )
    }
    case 'not-covered':
      return refusal('coin_not_covered', {
        detail: `No source of /${contract.id} covers ${subject}.`,
        param: pathParameterOf(contract),
        allowed: view.coins,
      })
    case 'low-coverage':
      return warmingUp(contract, view, nowMs)
    default:
      return view satisfies never
  }
}

/** Below the coverage floor of its contract an analysis is neither quoted nor sold. */
function warmingUp(
  { id, coverageFloor }: AnalysisContract,
  { missing, have, need, readyAtMs, detail }: Extract<NoAnswer, { kind: 'low-coverage' }>,
  nowMs: number,
): Refusal {
  const readySeconds =
    readyAtMs === undefined || readyAtMs <= nowMs ? null : Math.ceil((readyAtMs - nowMs) / 1000)
  const retrySeconds = Math.min(readySeconds ?? WARMING_RETRY_SECONDS, WARMING_RETRY_SECONDS_MAX)
  return refusal('warming_up', {
    detail:
      `${detail ?? `Available ${missing}: ${have}; required: ${need}.`} ` +
      `/${id} requires ${coverageFloor.least}. Nothing was charged. Retry in ${retrySeconds} s.`,
    retryAfterSeconds: retrySeconds,
    more: {
      missing,
      have,
      need,
      ready_in_seconds: readySeconds,
      ready_at_iso: readySeconds === null ? null : isoInstant(nowMs + readySeconds * 1000),
    },
  })
}

/** The signature does not cover the echoed extension, so the payment can be sent again without it. */
export function qualityFell({ grade, coverage }: Partial<Quality>, present: Quality): Refusal {
  const quoted = [
    ...(grade === undefined ? [] : [`grade ${grade}`]),
    ...(coverage === undefined ? [] : [`${coverage} % coverage`]),
  ]
  return refusal('data_stale', {
    detail:
      `The answer's quality is below the quote: quoted ${quoted.join(' with ')}, ` +
      `now grade ${present.grade} with ${present.coverage} %. Nothing was charged. Send the same payment later, or ` +
      'now without the extension answer-preview to accept the lower quality.',
    retryAfterSeconds: RETRY_SECONDS,
    more: {
      ...(grade !== undefined && { quoted_grade: grade }),
      ...(coverage !== undefined && { quoted_coverage: coverage }),
      quality_grade: present.grade,
      coverage: present.coverage,
    },
  })
}

/** The signature does not cover the echo here either. */
export function invalidEcho({ param, rule }: InvalidEcho): Refusal {
  return refusal('malformed_payment', {
    detail: `${param} ${rule}. Nothing was charged. Correct it and send the same payment again.`,
    param,
  })
}

/** The reason of a failed check names internal nodes and files; only the admin port shows it. */
const failedChecks = {
  accepts_sales: 'This server is about to end or restart.',
  ledger_writable: 'The payment ledger is not writable now.',
  can_settle: 'No payment method can settle now.',
  clock: 'The server clock is wrong now.',
  engine_agrees: 'The market engine does not fit this gateway now.',
  engine_clock: 'The clocks of the market engine and this gateway differ now.',
} as const satisfies Record<CheckedSales['check'], string>

export function notReady({ check }: CheckedSales): Refusal {
  return passing('service_not_ready', failedChecks[check], { check })
}

/** A refusal that is expected to pass within seconds. */
function passing(
  code: Refusal['code'],
  cause: string,
  more?: Readonly<Record<string, string>>,
): Refusal {
  return refusal(code, {
    detail: `${cause} Nothing was charged. Retry in ${RETRY_SECONDS} s.`,
    retryAfterSeconds: RETRY_SECONDS,
    ...(more && { more }),
  })
}

function capitalised(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}
