import { DatabaseError, Pool, types } from 'pg'
import { OperatingError } from '../../domain/errors.ts'

/**
 * Runs one statement. int8 values are `bigint`, bytea values `Buffer`. A text with values is prepared once in each
 * connection, so texts must be constants.
 */
export type SqlQuery = <Row>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>

export type PostgresOptions = {
  /** `postgres://user:password@host:port/database`. Secret. */
  readonly url: string
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** Longest statement, ms; longer for commands that read everything. */
  readonly statementMsMax?: number
  readonly connectionsMax?: number
}

const CONNECTIONS_MAX = 10
/** Also the wait for a free connection of the pool. */
const CONNECT_MS_MAX = 3_000
const LOCK_MS_MAX = 3_000
const STATEMENT_MS_MAX = 5_000
/** Beyond the time-out of the server, for a connection that died without a packet. */
const REPLY_MS_MORE = 2_000
/** The server ends the transaction of a frozen process, so that its locks do not stop the others. */
const IDLE_IN_TRANSACTION_MS_MAX = 10_000

const INT8 = 20

/**
 * SQLSTATE classes and codes of a server that cannot work now: connection, resources, shutdown, read-only standby,
 * and time-outs (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const unavailable = /^(08|53|57P|58)|^(25006|40001|40P01|55P03|57014)$/
/** The server ended the connection, perhaps after the commit. */
const endedByServer = /^(08|57P)/

/** PostgreSQL did not carry out a statement, or its reply was lost. */
export class PostgresUnavailableError extends OperatingError {
  /** Whether the statement was sent and may have been carried out: read the row back. */
  readonly mayBeDone: boolean

  constructor(cause: unknown, mayBeDone: boolean) {
    super('postgres_unavailable', 'PostgreSQL is not available', { cause })
    this.mayBeDone = mayBeDone
  }
}

/** A bounded pool of connections to PostgreSQL. It recovers by itself after the server returns. */
export class Postgres {
  readonly #pool: Pool
  readonly #names = new Map<string, string>()

  constructor({ url, applicationName, ...options }: PostgresOptions) {
    const { statementMsMax = STATEMENT_MS_MAX, connectionsMax = CONNECTIONS_MAX } = options
    this.#pool = new Pool({
      connectionString: url,
      application_name: applicationName,
      max: connectionsMax,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      lock_timeout: LOCK_MS_MAX,
      statement_timeout: statementMsMax,
      query_timeout: statementMsMax + REPLY_MS_MORE,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
      keepAlive: true,
      types: { getTypeParser },
    })
    // The pool removes an idle connection that ended, and the next statement opens another.
    this.#pool.on('error', ignore)
    // A statement that fails reports why its connection ended. The server can end one in the packet that opens it,
    // before `connect` resolves.
    this.#pool.on('connect', (client) => client.on('error', ignore))
  }

  /**
   * Runs one statement in a transaction of its own.
   * @throws PostgresUnavailableError
   */
  readonly query: SqlQuery = (text, values) => this.#connected((query) => query(text, values))

  /**
   * Runs `work` in one transaction (read committed); an exception rolls back.
   * @throws PostgresUnavailableError; with `mayBeDone` only if the reply to the commit was lost
   */
  transaction<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> {
    return this.#connected(async (query) => {
      // Who waited for a lock must see what its holder wrote; the server or the role can have another default.
      await query('BEGIN ISOLATION LEVEL READ COMMITTED')
      let result: T
      try {
        result = await work(query)
      } catch (cause) {
        // A lost connection cannot be rolled back, and needs no rollback.
        await query('ROLLBACK').catch(ignore)
        throw cause instanceof PostgresUnavailableError
          ? new PostgresUnavailableError(cause.cause, false)
          : cause
      }
      await query('COMMIT')
      return result
    })
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end()
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `perpscope_${this.#names.size}`
    this.#names.set(text, name)
    return name
  }

  async #connected<T>(work: (query: SqlQuery) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((cause: unknown) => {
      throw new PostgresUnavailableError(cause, false)
    })
    let isLost = false
    const query: SqlQuery = async <Row>(text: string, values?: readonly unknown[]) => {
      try {
        const { rows } = await client.query(
          values === undefined ? { text } : { name: this.#nameOf(text), text, values: [...values] },
        )
        return rows as Row[]
      } catch (cause) {
        isLost ||= !(cause instanceof DatabaseError) || endedByServer.test(cause.code ?? '')
        throw isUnavailable(cause) ? new PostgresUnavailableError(cause, isLost) : cause
      }
    }
    try {
      return await work(query)
    } finally {
      client.release(isLost)
    }
  }
}

/** Whether this is a refusal of the unique constraint or index with this name. */
export function violates(cause: unknown, constraint: string): boolean {
  return cause instanceof DatabaseError && cause.code === '23505' && cause.constraint === constraint
}

function isUnavailable(cause: unknown): boolean {
  return cause instanceof DatabaseError ? unavailable.test(cause.code ?? '') : isFailure(cause)
}

/** A failure of the connection; anything else that is no `DatabaseError` is a defect of this program. */
function isFailure(cause: unknown): boolean {
  return cause instanceof Error && !(cause instanceof TypeError)
}

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 ? BigInt : types.getTypeParser(oid, format ?? 'text')
}

function ignore(): void {}
