import type { VaultDetails } from '../wire/vault-details.ts'

/** The venue's liquidity vault, whose children liquidate and make markets. */
const LIQUIDITY_VAULT = '0xdfc24b077bc1425ad1dea75bcb6f8158e10df303'
/** The names of the children that take positions over. */
const LIQUIDATOR = /liquidator/i
/** Its children as of November 2026, until the venue has answered. */
export const KNOWN_LIQUIDATORS: readonly string[] = [
  '0x2e3d94f0562703b25c83308a05046ddaf9a8dd14',
  '0xb0a55f13d22f66e6d495ac98113841b2326e9540',
  '0x5e177e5e39c0f4e421f5865a6d8beed8d921cb70',
  '0x2ed5c4484ea3ff8b57d5f2fb152a40d9f2b68308',
  '0x63c621a33714ec48660e32f2374895c8026a3a00',
]
/** More children than the vault has; one request each. */
const CHILDREN_MAX = 16
const PERIOD_MS = 24 * 3_600_000
const RETRY_MS = 600_000

/** The venue's liquidator vaults: from its vault details once a day, or as configured. */
export class VaultRefresh {
  readonly #configured: readonly string[] | undefined
  /** Vaults whose details are missing in this round, the liquidity vault first. */
  #open: string[] = []
  #liquidators: string[] = []
  #nextMs = Number.NEGATIVE_INFINITY
  #retryAtMs = Number.NEGATIVE_INFINITY

  constructor(configured: readonly string[] | undefined) {
    this.#configured = configured
  }

  /** The vaults before any answer of the venue. */
  get initial(): readonly string[] {
    return this.#configured ?? KNOWN_LIQUIDATORS
  }

  /** The vault whose details are to be requested; undefined for none. */
  due(nowMs: number): string | undefined {
    if (this.#configured !== undefined || nowMs < this.#retryAtMs) return undefined
    if (this.#open.length === 0 && nowMs >= this.#nextMs) {
      this.#open = [LIQUIDITY_VAULT]
      this.#liquidators = []
      this.#nextMs = nowMs + PERIOD_MS
    }
    return this.#open[0]
  }

  /** Without usable details the vault is asked for again later, after the others: their requests share a weight. */
  failed(nowMs: number): void {
    this.#open.push(...this.#open.splice(0, 1))
    this.#retryAtMs = nowMs + RETRY_MS
  }

  /** @returns all liquidators once the round is complete; null before, and if the venue names none */
  answered(vault: string, { name, children }: VaultDetails): readonly string[] | null {
    this.#open.shift()
    if (vault === LIQUIDITY_VAULT) this.#open.push(...children.slice(0, CHILDREN_MAX))
    else if (LIQUIDATOR.test(name)) this.#liquidators.push(vault)
    return this.#open.length === 0 && this.#liquidators.length > 0 ? this.#liquidators : null
  }
}
