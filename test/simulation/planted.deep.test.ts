import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { Document } from '../../src/domain/document.ts'
import { ownDocuments } from '../../src/domain/placed-document.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import { kindOf } from './findings.ts'
import type { BrokerDefect } from './link/broker-state.ts'
import { simulateLink } from './link/link-simulation.ts'
import { repeated } from './outcome.ts'
import { CHECKPOINT_BYTES_MAX } from './promises.ts'
import type { Defect, SimulationOptions } from './simulation.ts'
import { simulate } from './simulation.ts'

/**
 * Without faults, so that only the planted defect is found. With two coins, the fewest that have a correlation: most of a
 * run is the warm-up, whose length is the venue's REST weight for each coin.
 */
const CALM = { seed: 5, minutes: 1, faults: 0, kinds: [], coins: 2 } as const
/** With a twin. Without a defect they agree as soon as the crashed one is well again. */
const CRASHED_TWIN = crashing({ ...CALM, seed: 4, agreementMs: 60_000 })
/** An engine without its checkpoint is noticed by the histories of more than three coins. */
const FOUR_COINS = { ...CALM, coins: 4 }

describe('the simulation finds a planted defect:', () => {
  test('nothing without a planted defect', () => {
    expect(found({}, CRASHED_TWIN)).toEqual([])
  })

  test('an engine that is not deterministic', () => {
    let runs = 0
    const defect: Defect = {
      onStart: () => {
        runs += 1
      },
      carried: (message) => message,
      onSaid: (message) => {
        if (message.kind === 'heartbeat') Object.assign(message.heartbeat, { startedAtMs: runs })
      },
    }
    const options = { ...CALM, minutes: 0, defect }
    const kinds = repeated(simulate(options), options).violations.map(kindOf)
    expect(kinds).toEqual(['determinism: the same seed gave other bytes'])
  })

  test('a checkpoint restored with different numbers', () => {
    const kinds = found({ onLaunch: onSecond(tamperWithCheckpoint) }, CRASHED_TWIN)
    expect(kinds).toContain('restored: a restored engine says other than an uninterrupted one')
    expect(kinds).toContain('numbers: candles never were so')
  })

  test('a checkpoint that is lost', () => {
    const onLaunch = onSecond((dir) => rmSync(join(dir, 'engine.db')))
    expectFound(
      'restored: an engine began without its checkpoint',
      { onLaunch },
      crashing(FOUR_COINS),
    )
  })

  test('documents that do not reach their readers', () => {
    let messages = 0
    const carried = (message: EngineMessage) => {
      messages += 1
      return message.kind === 'documents' && messages % 7 === 0 ? null : message
    }
    expectFound('replica: readers do not get what the engine said last', { carried })
  })

  test('an answer whose confirmation time goes back', () => {
    let documents = 0
    const carried = onDocuments('spread', (text) => {
      documents += 1
      // Not every second one, which would be all of one of the two coins.
      return documents % 3 === 0
        ? text.replace(/("book":"\d{3})\d(?=-)/, (_, century) => `${century}5`)
        : text
    })
    expectFound('replica: as_of went back: book', { carried })
  })

  test('a negative price', () => {
    const carried = onDocuments('spread', (text) =>
      text.replace(/"mid_price":\d(?=\d)/, '"mid_price":-'),
    )
    expectFound('sanity: an answer that cannot be: spread', { carried })
  })

  test('a crossed book', () => {
    const carried = onDocuments('spread', (text) =>
      text
        .replaceAll('"best_bid"', '"best_xxx"')
        .replaceAll('"best_ask"', '"best_bid"')
        .replaceAll('"best_xxx"', '"best_ask"'),
    )
    expectFound('sanity: an answer that cannot be: spread', { carried })
  })

  test('a candle with a wrong last digit', () => {
    const onFrame = (text: string) =>
      text.startsWith('{"channel":"candle"')
        ? text.replace(
            /("c":"[\d.]*)(\d)(\.0)?"/,
            (_, head, digit, zero = '') => `${head}${digit === '1' ? 2 : 1}${zero}"`,
          )
        : text
    expectFound('numbers: candles never were so', { onFrame })
  })

  test('a book with a wrong size', () => {
    const onFrame = (text: string) =>
      text.startsWith('{"channel":"l2Book"') ? text.replaceAll('"sz":"', '"sz":"1') : text
    expectFound('numbers: book never were so', { onFrame })
  })

  test('derivative figures that the venue never published', () => {
    const onFrame = (text: string) =>
      text.includes('"openInterest"')
        ? text.replaceAll('"openInterest":"', '"openInterest":"1')
        : text
    expectFound('numbers: context never were so', { onFrame })
  })

  test('invented figures, also while lost frames excuse every error', () => {
    const onFrame = (text: string) =>
      text.includes('"openInterest"')
        ? text.replaceAll('"openInterest":"', '"openInterest":"1')
        : text
    const lossy = { ...CALM, faults: 30, kinds: ['drop-frames'] } as const
    // The share is judged at the end of a run, which is over with the first error that no lost frame excuses.
    const until = 'numbers: context wrong for too long, by frames lost or bent'
    const kinds = found({ onFrame }, { ...lossy, until })
    expect(kinds).toContain('numbers: context were wrong too often, whatever the excuses')
  })

  test('a wrong settled funding rate', () => {
    const carried = onDocuments('funding', (text) =>
      text.replaceAll(/("rate":-?0\.\d{5})\d/g, (_, head) => `${head}9`),
    )
    expectFound('numbers: settlements never were so', { carried })
  })

  test('an old book with a new timestamp', () => {
    const before = new Map<string, string[]>()
    const onFrame = (text: string) => {
      if (!text.startsWith('{"channel":"l2Book"')) return text
      const coin = /"coin":"[^"]+"/.exec(text)?.[0] ?? ''
      const books = [...(before.get(coin) ?? []), text].slice(-3)
      before.set(coin, books)
      const stamp = /"time":\d+/.exec(text)?.[0] ?? ''
      return books[0]?.replace(/"time":\d+/, stamp) ?? text
    }
    expectFound('ages: book younger by their own word, near nothing in particular', { onFrame })
  })

  test('an answer about another coin than requested', () => {
    const carried = onDocuments('spread', (text) => text.replace('"coin":"ETH"', '"coin":"LTC"'))
    expectFound('sanity: an answer that cannot be: spread', { carried })
  })

  test('a liquidation map whose sides exceed the open interest', () => {
    const carried = onDocuments('liquidations', (text) =>
      text.replace(/"open_interest_usd":\d+/, '"open_interest_usd":1'),
    )
    expectFound('sanity: an answer that cannot be: liquidations', { carried })
  })

  test('late frames that count as new', () => {
    const late: string[] = []
    const onFrame = (text: string) => {
      if (!text.startsWith('{"channel":"candle"')) return text
      late.push(text)
      return late.length > 32 ? (late.shift() ?? text) : null
    }
    expectFound('ages: candles younger by their own word, near nothing in particular', { onFrame })
  })

  test('a coin that stays silent', () => {
    const onFrame = (text: string) => (text.includes('"coin":"ETH"') ? null : text)
    expectFound('health: not warm in time: spread', { onFrame })
  })

  test('a coin name unknown to the venue', () => {
    const onMessage = (text: string) => text.replace('"coin":"ETH"', '"coin":"ETHH"')
    expectFound('limits: the venue complained', { onMessage })
  })

  test('more connections than the venue allows', () => {
    const onStart: Defect['onStart'] = (venue) => {
      const peer = { send: () => {}, drop: () => {}, queuedBytes: () => 0 }
      for (let more = 0; more < 8; more += 1) venue.connect('service', peer)
    }
    expectFound('limits: the venue complained', { onStart })
  })

  test('a checkpoint that grows without bound', () => {
    const onLaunch = onSecond((dir) =>
      // Appended to the file itself, because SQLite empties a long log within seconds.
      appendFileSync(join(dir, 'history.db'), new Uint8Array(CHECKPOINT_BYTES_MAX)),
    )
    expectFound('bounds: checkpoint bytes', { onLaunch }, crashing(CALM))
  })

  test('an uncaught exception', () => {
    let messages = 0
    const onSaid = () => {
      messages += 1
      if (messages === 100) throw new Error('planted')
    }
    expectFound("crash: service's engine died: planted", { onSaid })
  })

  test.each<[string, BrokerDefect, readonly string[]]>([
    [
      'an epoch that begins again when the broker loses its data',
      'epoch-by-increment',
      [
        'link: an older epoch published',
        'link: a gateway lacks a document though nothing is wrong',
      ],
    ],
    [
      'a delayed publication that replaces a newer one',
      'no-position-check',
      ['link: an older frame replaced a newer one'],
    ],
    [
      'changed documents that the broker stores without the others',
      'changes-replace-all',
      ['link: a gateway lacks a document though nothing is wrong'],
    ],
  ])('%s', async (_what, defect, expected) => {
    expect(await foundInLink(defect, expected)).toEqual(expected)
  })
})

/** All of these defects show with several of these seeds. */
const LINK_SEEDS = 40

/** Ends when every kind was found. */
async function foundInLink(
  defect: BrokerDefect,
  expected: readonly string[],
): Promise<readonly string[]> {
  const kinds = new Set<string>()
  for (let seed = 1; seed <= LINK_SEEDS && !expected.every((kind) => kinds.has(kind)); seed += 1)
    for (const kind of Object.keys((await simulateLink({ seed, defect })).counts)) kinds.add(kind)
  return expected.filter((kind) => kinds.has(kind))
}

/** @param kind start of the violation's kind */
function expectFound(kind: string, defect: Defect, options: SimulationOptions = CALM): void {
  const kinds = found(defect, { ...options, until: kind })
  const isFound = kinds.some((each) => each.startsWith(kind))
  expect(isFound, `"${kind}" among: ${kinds.join('; ') || 'nothing'}`).toBe(true)
}

/** @returns the kinds of violations. */
function found(defect: Defect, options: SimulationOptions = CALM): readonly string[] {
  return Object.keys(simulate({ ...options, defect }).counts)
}

/** The engine crashes once and is restarted. */
function crashing(options: SimulationOptions): SimulationOptions {
  return { ...options, faults: 1, kinds: ['engine-crash'] }
}

function onSecond(task: (dir: string) => void): (dir: string) => void {
  let launches = 0
  return (dir) => {
    launches += 1
    if (launches === 2) task(dir)
  }
}

/** Approximate range of the candle indicators among the numbers of a saved coin. */
const SERIES_FROM = 80
const SERIES_UNTIL = 500

/** Changes the saved averages and corrects the checksum. */
function tamperWithCheckpoint(dir: string): void {
  const db = new Database(join(dir, 'engine.db'))
  const rows = db.prepare<[], { name: string; state: Buffer }>('SELECT name, state FROM coin').all()
  for (const { name, state } of rows) {
    const numbers = new Float64Array(new Uint8Array(state).buffer)
    // Averages and closes are fractions; counts and instants are integers.
    for (let at = SERIES_FROM; at < SERIES_UNTIL; at += 1) {
      const number = numbers[at] ?? 0
      if (!Number.isInteger(number)) numbers[at] = number * 1.01
    }
    const bytes = Buffer.from(numbers.buffer)
    db.prepare('UPDATE coin SET state = ?, crc = ? WHERE name = ?').run(bytes, crc32(bytes), name)
  }
  db.close()
}

/** Changes the text of documents without changing its length. */
function onDocuments(
  analysis: string,
  change: (text: string) => string,
): (message: EngineMessage) => EngineMessage {
  const changed = (document: Document): Document => {
    if (!document.key.startsWith(`${analysis}/`)) return document
    const text = Buffer.from(document.bytes).toString('latin1')
    const { key, version, renderedAtMs, nextUpdateMs, parts, views, numbered } = document
    const bytes = Buffer.from(change(text), 'latin1')
    return { key, version, renderedAtMs, nextUpdateMs, bytes, parts, views, numbered }
  }
  return (message) =>
    message.kind === 'documents'
      ? { ...message, documents: ownDocuments(message.documents).map(changed) }
      : message
}
