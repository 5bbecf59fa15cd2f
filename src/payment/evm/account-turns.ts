import type { Postgres } from '../ledger/postgres.ts'

/** Runs the tasks that use nonces of one account, one at a time. */
export interface AccountTurns {
  /** Whether other processes send from the account as well: every turn reads the nonce from the chain. */
  readonly isShared: boolean
  run<T>(task: () => Promise<T>): Promise<T>
}

/** Turns of the one process that sends from the account. Bounded by the payments in flight. */
export class OwnTurns implements AccountTurns {
  readonly isShared = false
  #tail: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(task, task)
    this.#tail = turn.catch(() => undefined)
    return turn
  }
}

/** Class of the advisory locks on accounts, so that they collide with no other lock. */
const LOCK_CLASS = 7_402

/**
 * Turns of all gateways that share a ledger. PostgreSQL ends the turn of a frozen gateway; if that gateway resumes, the
 * chain refuses its nonce.
 */
export class SharedTurns implements AccountTurns {
  readonly isShared = true
  readonly #db: Postgres
  readonly #account: string
  /** One connection for each process. */
  readonly #own = new OwnTurns()

  /** @param account such as `eip155:8453/0x…`, the same in every gateway */
  constructor(db: Postgres, account: string) {
    this.#db = db
    this.#account = account
  }

  /** @throws PostgresUnavailableError before the task begins, never after it */
  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#own.run(() => this.#locked(task))
  }

  async #locked<T>(task: () => Promise<T>): Promise<T> {
    let outcome: (() => T) | null = null
    try {
      await this.#db.transaction(async (query) => {
        await query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, this.#account])
        try {
          const result = await task()
          outcome = () => result
        } catch (cause) {
          outcome = () => {
            throw cause
          }
        }
      })
    } catch (cause) {
      // A lock that was lost during the task changes nothing about what the task has sent.
      if (outcome === null) throw cause
    }
    if (outcome === null) throw new Error('a transaction runs its work')
    return (outcome as () => T)()
  }
}
