import { hash } from 'node:crypto'
import type {
  Anchor,
  AnswerProof,
  HourAnchor,
  HoursBefore,
  LeafKind,
  ProofLog,
  SealedHour,
} from '../domain/answer-proof.ts'
import {
  FOLLOWING_MAX,
  hourOf,
  LEAVES_MAX,
  leafKinds,
  NO_CHAIN,
  sealedHour,
  waitingHours,
} from '../domain/answer-proof.ts'
import { MerkleTree } from '../domain/merkle-tree.ts'
import type { SqlQuery } from './ledger/postgres.ts'

/** What the two stores of the log do not share. */
export type ProofStore = {
  readonly query: SqlQuery
  readonly statements: ProofStatements
  /** The clock of the log. */
  readonly nowMs: () => Promise<number>
  /** @param kind index of {@link leafKinds} */
  readonly insert: (kind: number, hour: number, digests: readonly Buffer[]) => Promise<void>
  /** Seals the next leaves of an hour. @returns false if there are none, or another gateway seals */
  readonly sealNext: (hour: number) => Promise<boolean>
}

export type ProofStatements = ReturnType<typeof proofStatements>

export type HourRow = Readonly<Record<'number' | 'hour' | 'answers' | 'claims', bigint>> & {
  readonly root: Buffer
  readonly chain: Buffer
}

/** A leaf that waits for its hour. */
export type OpenLeaf = Readonly<Record<'id' | 'kind', bigint | number>> & {
  readonly digest: Buffer
}

type LeafRow = {
  readonly kind: bigint | number
  readonly hour: bigint
  readonly number: bigint | null
  readonly position: bigint | number | null
}

type AnchorRow = Pick<Anchor, 'network' | 'transaction'> & {
  readonly day: bigint
  readonly number: bigint
}

const HOUR_MS = 3_600_000
const ALL = 2n ** 62n

/** Statements of both stores, whose tables have other names. */
export function proofStatements({
  hours,
  leaves,
  anchors,
}: Readonly<Record<'hours' | 'leaves' | 'anchors', string>>) {
  const anchor = `SELECT day, number, network, hash AS "transaction" FROM ${anchors}`
  return {
    leaf: `SELECT kind, hour, number, position FROM ${leaves} WHERE digest = $1`,
    /** Two ranges of the index, without the leaves of the present hour, which wait too. */
    ended: `SELECT hour FROM (
        SELECT id, hour FROM ${leaves} WHERE number IS NULL AND hour < $1
        UNION ALL SELECT id, hour FROM ${leaves} WHERE number IS NULL AND hour > $2) ended
      GROUP BY hour ORDER BY min(id)`,
    openLeaves: `SELECT id, kind, digest FROM ${leaves} WHERE number IS NULL AND hour = $1
      ORDER BY id LIMIT ${LEAVES_MAX}`,
    digests: `SELECT digest FROM ${leaves} WHERE number = $1 ORDER BY position`,
    lastHour: `SELECT * FROM ${hours} ORDER BY number DESC LIMIT 1`,
    hour: `SELECT * FROM ${hours} WHERE number = $1`,
    hoursBetween: `SELECT * FROM ${hours} WHERE number > $1 AND number <= $2 ORDER BY number`,
    hoursBefore: `SELECT * FROM ${hours} WHERE number < $1 AND hour < $2
      ORDER BY number DESC LIMIT $3`,
    seal: `INSERT INTO ${hours} (number, hour, answers, claims, root, chain)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    minedAnchor: `${anchor} WHERE number >= $1 AND is_mined ORDER BY number LIMIT 1`,
    openAnchors: `${anchor} WHERE NOT is_mined ORDER BY day`,
    beginAnchor: `INSERT INTO ${anchors} SELECT $1, max(number), $2, '', false FROM ${hours}
        HAVING max(number) > coalesce((SELECT max(number) FROM ${anchors}), 0)
      ON CONFLICT DO NOTHING RETURNING number`,
    anchorSent: `UPDATE ${anchors} SET hash = $2 WHERE day = $1`,
    anchorMined: `UPDATE ${anchors} SET is_mined = true WHERE day = $1`,
    cancelAnchor: `DELETE FROM ${anchors} WHERE day = $1 AND NOT is_mined`,
  }
}

/**
 * The hashes of all sold answers and of all claims, by hour, with the root of each hour in a chain. What was sealed once
 * is never changed, so nobody, the operator included, can add to a past hour or remove from one unnoticed.
 */
export class StoredProofLog implements ProofLog {
  readonly #store: ProofStore
  readonly #query: SqlQuery
  readonly #statements: ProofStatements

  constructor(store: ProofStore) {
    this.#store = store
    this.#query = store.query
    this.#statements = store.statements
  }

  async add(kind: LeafKind, digests: readonly Uint8Array[]): Promise<void> {
    const hour = hourOf(await this.#store.nowMs())
    const given = digests.map((digest) => Buffer.from(digest))
    await this.#store.insert(leafKinds.indexOf(kind), hour, given)
  }

  async proofOf(digest: Uint8Array): Promise<AnswerProof | null> {
    const [found] = await this.#query<LeafRow>(this.#statements.leaf, [Buffer.from(digest)])
    if (found === undefined) return null
    const kind = leafKinds[Number(found.kind)] as LeafKind
    const hour = found.number === null ? null : await this.#hour(Number(found.number))
    if (hour === null || found.position === null)
      return { state: 'open', kind, hourMs: Number(found.hour) * HOUR_MS }
    return {
      ...{ state: 'sealed', kind, hour },
      before: (await this.#hour(hour.number - 1))?.chain ?? NO_CHAIN,
      proof: (await this.#treeOf(hour.number)).proof(Number(found.position)),
      anchor: await this.#anchorOf(hour.number),
    }
  }

  async hours(before: HoursBefore, countMax: number): Promise<readonly SealedHour[]> {
    const number = before !== null && 'number' in before ? before.number : ALL
    const hour = before !== null && 'hourMs' in before ? Math.ceil(before.hourMs / HOUR_MS) : ALL
    return this.#hours(this.#statements.hoursBefore, [number, hour, countMax])
  }

  async seal(): Promise<void> {
    const waiting = waitingHours(await this.#store.nowMs())
    const ended = await this.#query<{ hour: bigint }>(this.#statements.ended, waiting)
    for (const { hour } of ended) {
      let isDone = false
      while (!isDone) isDone = !(await this.#store.sealNext(Number(hour)))
    }
  }

  async beginAnchor(day: number, network: string): Promise<SealedHour | null> {
    const { beginAnchor } = this.#statements
    const [begun] = await this.#query<{ number: bigint }>(beginAnchor, [day, network])
    return begun === undefined ? null : this.#hour(Number(begun.number))
  }

  async anchorSent(day: number, transaction: string): Promise<void> {
    await this.#query(this.#statements.anchorSent, [day, transaction])
  }

  async anchorMined(day: number): Promise<void> {
    await this.#query(this.#statements.anchorMined, [day])
  }

  async cancelAnchor(day: number): Promise<void> {
    await this.#query(this.#statements.cancelAnchor, [day])
  }

  async openAnchors(): Promise<readonly Anchor[]> {
    const rows = await this.#query<AnchorRow>(this.#statements.openAnchors)
    return rows.map(({ day, number, ...anchor }) => ({
      ...{ day: Number(day), number: Number(number), ...anchor },
    }))
  }

  async #hour(number: number): Promise<SealedHour | null> {
    return (await this.#hours(this.#statements.hour, [number]))[0] ?? null
  }

  async #hours(statement: string, values: readonly unknown[]): Promise<readonly SealedHour[]> {
    return (await this.#query<HourRow>(statement, values)).map(hourFrom)
  }

  async #anchorOf(number: number): Promise<HourAnchor | null> {
    const [row] = await this.#query<AnchorRow>(this.#statements.minedAnchor, [number])
    if (row === undefined || Number(row.number) - number > FOLLOWING_MAX) return null
    const chain = (await this.#hour(Number(row.number)))?.chain ?? NO_CHAIN
    const following = await this.#hours(this.#statements.hoursBetween, [number, row.number])
    return { network: row.network, transaction: row.transaction, chain, following }
  }

  async #treeOf(number: number): Promise<MerkleTree> {
    const rows = await this.#query<{ digest: Buffer }>(this.#statements.digests, [number])
    return new MerkleTree(
      rows.map(({ digest }) => digest),
      sha256,
    )
  }
}

/** @returns the values of the statement `seal` for the next hour of the chain */
export function sealValues(
  last: HourRow | undefined,
  hour: number,
  leaves: readonly OpenLeaf[],
): readonly unknown[] {
  const given = leaves.map(({ kind, digest }) => ({ kind: Number(kind), digest }))
  const next = sealedHour(last && hourFrom(last), hour * HOUR_MS, given, sha256)
  const { number, answers, claims, root, chain } = next
  return [number, hour, answers, claims, Buffer.from(root), Buffer.from(chain)]
}

function hourFrom({ number, hour, answers, claims, root, chain }: HourRow): SealedHour {
  return {
    ...{ number: Number(number), hourMs: Number(hour) * HOUR_MS, root, chain },
    ...{ answers: Number(answers), claims: Number(claims) },
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}
