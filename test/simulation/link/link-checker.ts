import assert from 'node:assert/strict'
import type { Document } from '../../../src/domain/document.ts'
import { WHOLE_MARKET } from '../../../src/domain/document.ts'
import { ownDocuments } from '../../../src/domain/placed-document.ts'
import type { FramePosition, Lease, Publication } from '../../../src/link/broker/broker.ts'
import { isNewer } from '../../../src/link/broker/broker.ts'
import { membersOf } from '../../../src/link/testing/engine-messages.ts'
import type { Findings } from '../findings.ts'
import type { LinkEngine, LinkGateway } from './link-machines.ts'

/** Everything is fresh within this time after the last fault. */
export const HEALED_MS = 5_000
/** A healthy gateway has a heartbeat that is not older. */
const HEARTBEAT_AGE_MS_MAX = 1_500
/** A healthy gateway has every rendering of the leader that is older. */
const CARRIED_MS_MAX = 1_500
/** Validity of a lease, during which its loss at the broker is not noticed. */
const LEASE_MS = 3_000

/** Checks the promises of the link between engines and gateways. */
export class LinkChecker {
  readonly #findings: Findings
  readonly #nowMs: () => number
  #newestEpoch = 0
  #lostDataAtMs = Number.NEGATIVE_INFINITY
  /** By gateway process and key. */
  readonly #renderedAtMs = new WeakMap<LinkGateway, Map<string, number>>()

  constructor(findings: Findings, nowMs: () => number) {
    this.#findings = findings
    this.#nowMs = nowMs
  }

  lostData(): void {
    this.#lostDataAtMs = this.#nowMs()
  }

  published({ epoch }: Lease, frame: Publication, before: FramePosition | undefined): void {
    this.sent({ epoch })
    if (before !== undefined && !isNewer({ epoch, sequence: frame.sequence }, before))
      this.#violation('an older frame replaced a newer one', frame.subject, `${epoch}`)
  }

  sent({ epoch }: Pick<Lease, 'epoch'>): void {
    if (epoch < this.#newestEpoch)
      this.#violation('an older epoch published', null, `${epoch} after ${this.#newestEpoch}`)
    this.#newestEpoch = Math.max(this.#newestEpoch, epoch)
  }

  /** Called when an engine acquires the lease. */
  acquired(engines: readonly LinkEngine[]): void {
    const leading = engines.filter(
      ({ process, leadership }) => process.isAlive && leadership.lease !== null,
    )
    // A broker without its data gives the lease away; the fence refuses the other one.
    if (leading.length < 2 || this.#nowMs() - this.#lostDataAtMs <= LEASE_MS) return
    this.#violation('two engines hold a valid lease', null, `${leading.length}`)
  }

  /** No reader gets an older rendering than before. */
  gateway(gateway: LinkGateway, coins: readonly string[]): void {
    const seen = this.#renderedAtMs.get(gateway) ?? new Map<string, number>()
    this.#renderedAtMs.set(gateway, seen)
    for (const { key, renderedAtMs } of documentsOf(gateway.replica, coins)) {
      const before = seen.get(key) ?? Number.NEGATIVE_INFINITY
      seen.set(key, renderedAtMs)
      if (renderedAtMs < before)
        this.#violation('a document went back in time', key, `by ${before - renderedAtMs} ms`)
    }
  }

  /** Called while nothing has been wrong for {@link HEALED_MS}. */
  healthy(gateway: LinkGateway, leader: LinkEngine | undefined, coins: readonly string[]): void {
    if (leader === undefined) {
      this.#violation('no engine leads though nothing is wrong', null, '')
      return
    }
    const { silentMs } = gateway.mirror
    if (silentMs > HEARTBEAT_AGE_MS_MAX)
      this.#violation('a gateway has no heartbeat though nothing is wrong', null, `${silentMs} ms`)
    for (const { key, renderedAtMs } of documentsOf(leader.replica, coins)) {
      if (this.#nowMs() - renderedAtMs < CARRIED_MS_MAX) continue
      const carried = gateway.replica.document(key)?.renderedAtMs ?? Number.NEGATIVE_INFINITY
      if (carried < renderedAtMs)
        this.#violation('a gateway lacks a document though nothing is wrong', key, `${carried}`)
    }
  }

  /** At the end every gateway is equal to the leader. */
  end(
    gateways: readonly LinkGateway[],
    leader: LinkEngine | undefined,
    coins: readonly string[],
    everListed: readonly string[],
  ): void {
    const expected = leader === undefined ? [] : documentsOf(leader.replica, coins)
    for (const { replica } of gateways) {
      const actual = documentsOf(replica, everListed)
      if (!isEqual(byKey(actual), byKey(expected)))
        this.#violation(
          'a gateway differs from the leader at the end',
          null,
          `${actual.length} documents instead of ${expected.length}`,
        )
    }
  }

  #violation(what: string, coin: string | null, detail: string): void {
    this.#findings.violation({
      checker: 'link',
      atMs: this.#nowMs(),
      coin,
      what,
      detail,
      during: [],
    })
  }
}

function documentsOf(
  replica: LinkGateway['replica'],
  coins: readonly string[],
): readonly Document[] {
  return [...coins, WHOLE_MARKET].flatMap((subject) => ownDocuments(replica.documentsOf(subject)))
}

function byKey(documents: readonly Document[]): ReadonlyMap<string, unknown> {
  return new Map(documents.map((document) => [document.key, membersOf(document)]))
}

function isEqual(one: unknown, other: unknown): boolean {
  try {
    assert.deepStrictEqual(one, other)
    return true
  } catch {
    return false
  }
}
