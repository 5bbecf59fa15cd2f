import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PrivateKeyAccount } from 'viem/accounts'
import { LedgerReport } from '../../src/payment/ledger/ledger-report.ts'
import { encodedPayment, newBuyer, signedPayload } from '../../src/payment/testing/buyer.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { manifestIn } from '../../src/store/backup-manifest.ts'
import { Chance } from '../simulation/chance.ts'
import type { Ended, Rig } from '../support/service.ts'
import {
  fromElsewhere,
  mainMarketOnly,
  runCommand,
  startRig,
  until,
  untilAnswerable,
} from '../support/service.ts'

export type BackupKillsOptions = {
  readonly seed: number
  /** SIGKILLs of the service, each during a backup. */
  readonly kills: number
  readonly sampleSales: number
  readonly onProgress?: (kills: number) => void
}

export type BackupKillsResult = {
  readonly kills: number
  /** Kills during which a backup was copying. */
  readonly killsDuringCopy: number
  readonly backups: number
  /** Backups that were killed as well. */
  readonly backupsKilled: number
  readonly restores: number
  readonly payments: number
  /** Payments resent after a restore that were answered; others are refused as used (409). */
  readonly answeredAgain: number
  readonly refusedAgain: number
  readonly soldAfterRestores: number
  readonly idleSaleMs: Spread
  readonly backupSaleMs: Spread
  readonly violations: readonly string[]
}

type Spread = { readonly p50: number; readonly p95: number; readonly max: number }

type Payment = { readonly buyer: PrivateKeyAccount; readonly header: string }

const PRICE = 25_000n
/** Enough for three charges, to reveal a double charge. */
const FUNDS = 3n * PRICE
const PAYMENTS_A_ROUND = 3
const RESTORE_EVERY = 20
const SOLD_AFTER_A_RESTORE = 2
const KILL_AFTER_MS_MAX = 250
/** The command gives itself the lowest priority, and would wait for everything else that runs on this machine. */
const AT_FULL_PRIORITY = `data:text/javascript,${encodeURIComponent(
  "import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'; os.setPriority = () => undefined; syncBuiltinESMExports()",
)}`
/** Share of backups that are killed too. */
const BACKUP_KILLED = 0.25
const POLL_MS = 2

/** The built service, killed repeatedly while it sells and `perpscope backup` copies its files. */
export async function runBackupKills(options: BackupKillsOptions): Promise<BackupKillsResult> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-backup-kills-'))
  const rig = await startRig({ flags: mainMarketOnly })
  try {
    await untilAnswerable(rig.url, 'BTC')
    await until('a checkpoint is written', async () => existsSync(join(rig.dataDir, 'engine.db')))
    return await new Run(options, rig, join(folder, 'backup')).toItsEnd()
  } finally {
    await rig.close()
    await rm(folder, { recursive: true })
  }
}

class Run {
  readonly #options: BackupKillsOptions
  readonly #rig: Rig
  readonly #dir: string
  readonly #chance: Chance
  readonly #payments: Payment[] = []
  readonly #violations: string[] = []
  #kills = 0
  #killsDuringCopy = 0
  #backups = 0
  #backupsKilled = 0
  #restores = 0
  #answeredAgain = 0
  #refusedAgain = 0
  #soldAfterRestores = 0

  constructor(options: BackupKillsOptions, rig: Rig, dir: string) {
    this.#options = options
    this.#rig = rig
    this.#dir = dir
    this.#chance = new Chance(options.seed, 'backup kills')
  }

  async toItsEnd(): Promise<BackupKillsResult> {
    const { kills, sampleSales, onProgress } = this.#options
    const idleSaleMs = await this.#timedSales(sampleSales)
    const backupSaleMs = await this.#timedSalesDuringBackups(sampleSales)
    while (this.#kills < kills) {
      await this.#round()
      onProgress?.(this.#kills)
      if (this.#kills % RESTORE_EVERY === 0 || this.#kills === kills) await this.#restored()
    }
    await this.#audit()
    return {
      kills: this.#kills,
      killsDuringCopy: this.#killsDuringCopy,
      backups: this.#backups,
      backupsKilled: this.#backupsKilled,
      restores: this.#restores,
      payments: this.#payments.length,
      answeredAgain: this.#answeredAgain,
      refusedAgain: this.#refusedAgain,
      soldAfterRestores: this.#soldAfterRestores,
      idleSaleMs,
      backupSaleMs,
      violations: this.#violations,
    }
  }

  /** One round: sale, backup, kill, restart; then every payment is answered. */
  async #round(): Promise<void> {
    const payments = await this.#signed(PAYMENTS_A_ROUND)
    const isBackupKilled = this.#chance.is(BACKUP_KILLED)
    const backup = this.#backUp()
    await this.#untilCopying(backup.ended)
    const calls = payments.map((payment) => this.#status(payment).catch(() => 0))
    await pause(this.#chance.between(0, KILL_AFTER_MS_MAX))
    if (existsSync(`${this.#dir}.partial`)) this.#killsDuringCopy += 1
    if (isBackupKilled) backup.kill()
    await this.#rig.kill()
    this.#kills += 1
    await Promise.all(calls)
    const { code, errors } = await backup.ended
    if (code === 0) this.#backups += 1
    else if (isBackupKilled) this.#backupsKilled += 1
    else this.#violated(`backup ${this.#kills} ended with ${code}: ${errors}`)
    await this.#started()
    for (const payment of payments)
      await until('a payment is answered', async () => (await this.#status(payment)) === 200)
  }

  /** Restores a backup over the current files; it lacks all later sales. */
  async #restored(): Promise<void> {
    await this.#signedAndBought(1)
    await this.#rig.kill()
    if (manifestIn(this.#dir) === null) return this.#violated('the last backup is gone')
    const { code, errors } = await runCommand(['restore', this.#dir, ...this.#dataDir])
    this.#restores += 1
    if (code !== 0) return this.#violated(`restore ${this.#restores}: ${code} ${errors}`)
    await this.#started()
    for (const payment of this.#payments) {
      const status = await this.#settledStatus(payment)
      if (status === 200) this.#answeredAgain += 1
      else if (status === 409) this.#refusedAgain += 1
      else this.#violated(`a payment of before a restore: ${status}`)
    }
    await this.#signedAndBought(SOLD_AFTER_A_RESTORE)
    this.#soldAfterRestores += SOLD_AFTER_A_RESTORE
    await this.#audit()
  }

  /** Compares the expenses of every wallet with the ledger. */
  async #audit(): Promise<void> {
    const { chain, dataDir } = this.#rig
    let charged = 0n
    const spentBy = new Map<string, bigint>()
    for (const { buyer } of this.#payments) {
      const spent = FUNDS - (await chain.balanceOf(buyer.address))
      spentBy.set(buyer.address.toLowerCase(), spent)
      charged += spent
      if (spent !== PRICE) this.#violated(`${buyer.address} spent ${spent}`)
    }
    const received = await chain.balanceOf(chain.accounts.merchant.address)
    if (received !== charged) this.#violated(`received ${received}, charged ${charged}`)
    const books = new LedgerReport(join(dataDir, 'ledger.db'))
    try {
      for await (const row of books.payments({ sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER }))
        if (row.state === 'settled' && spentBy.get(row.payer.toLowerCase()) !== PRICE)
          this.#violated(`${row.payer} is settled in the ledger and was not charged`)
    } finally {
      books.close()
    }
  }

  async #timedSales(sales: number): Promise<Spread> {
    const tookMs: number[] = []
    for (const payment of await this.#signed(sales)) {
      const startedMs = performance.now()
      const status = await this.#status(payment)
      tookMs.push(performance.now() - startedMs)
      if (status !== 200) this.#violated(`a sale with nothing wrong: ${status}`)
    }
    return spreadOf(tookMs)
  }

  /** Runs backups in sequence until all sales are complete. */
  async #timedSalesDuringBackups(sales: number): Promise<Spread> {
    let isOver = false
    const copying = async () => {
      while (!isOver) {
        const { code, errors } = await this.#backUp().ended
        if (code === 0) this.#backups += 1
        else this.#violated(`a backup with nothing wrong: ${code} ${errors}`)
      }
    }
    const copies = copying()
    const spread = await this.#timedSales(sales)
    isOver = true
    await copies
    return spread
  }

  #backUp(): { readonly ended: Promise<Ended>; readonly kill: () => void } {
    let child: ChildProcess | undefined
    const ended = runCommand(['backup', this.#dir, '--json', ...this.#dataDir], {
      env: { NODE_OPTIONS: `--import=${AT_FULL_PRIORITY}` },
      onStart: (started) => {
        child = started
      },
    })
    return { ended, kill: () => void child?.kill('SIGKILL') }
  }

  async #untilCopying(ended: Promise<unknown>): Promise<void> {
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    while (!hasEnded && !existsSync(`${this.#dir}.partial`)) await pause(POLL_MS)
  }

  async #started(): Promise<void> {
    await this.#rig.start()
    await untilAnswerable(this.#rig.url, 'BTC')
  }

  async #signedAndBought(payments: number): Promise<void> {
    for (const payment of await this.#signed(payments))
      await until('a payment is answered', async () => (await this.#status(payment)) === 200)
  }

  async #signed(payments: number): Promise<readonly Payment[]> {
    const { chain } = this.#rig
    const signed: Payment[] = []
    for (let at = 0; at < payments; at += 1) {
      const buyer = newBuyer()
      await chain.fundUsdc(buyer.address, FUNDS)
      const payTo = chain.accounts.merchant.address
      const nowMs = systemClock.nowMs()
      const validBeforeSeconds = BigInt(Math.floor(nowMs / 1_000) + LIFETIME_SECONDS)
      const choices = { amount: PRICE, payTo, nowMs, validBeforeSeconds }
      signed.push({ buyer, header: encodedPayment(await signedPayload(buyer, choices)) })
    }
    this.#payments.push(...signed)
    return signed
  }

  /** Final status; 503 is retried. */
  async #settledStatus(payment: Payment): Promise<number> {
    let status = 0
    await until('a payment has an end', async () => {
      status = await this.#status(payment)
      return status < 500
    })
    return status
  }

  async #status({ header }: Payment): Promise<number> {
    const response = await fromElsewhere()(`${this.#rig.url}/pulse/BTC`, {
      headers: { 'payment-signature': header },
    })
    await response.arrayBuffer()
    return response.status
  }

  get #dataDir(): readonly string[] {
    return ['--data-dir', this.#rig.dataDir]
  }

  #violated(what: string): void {
    this.#violations.push(what)
  }
}

/** Payments are resent after each restore. */
const LIFETIME_SECONDS = 6 * 3_600

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { p50: at(0.5), p95: at(0.95), max: at(1) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
