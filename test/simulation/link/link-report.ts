import type { Violation } from '../findings.ts'
import { kindOf } from '../findings.ts'
import type { LinkFaultKind, LinkResult } from './link-simulation.ts'
import { linkFaultKinds } from './link-simulation.ts'

/** Summary of many seeds. */
export class LinkReport {
  readonly #violations = new Map<string, { readonly seeds: number[]; readonly first: Violation }>()
  readonly #faults = new Map<LinkFaultKind, number>()
  #seeds = 0
  #failed = 0
  #virtualMs = 0
  #published = 0
  #digest = 0

  get failed(): number {
    return this.#failed
  }

  add({ seed, violations, faults, virtualMs, published, digest }: LinkResult): void {
    this.#seeds += 1
    this.#virtualMs += virtualMs
    this.#published += published
    this.#digest = (this.#digest * 31 + digest) % 2 ** 32
    if (violations.length > 0) this.#failed += 1
    for (const kind of linkFaultKinds)
      this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + (faults[kind] ?? 0))
    for (const first of violations) {
      const known = this.#violations.get(kindOf(first))
      if (known === undefined) this.#violations.set(kindOf(first), { seeds: [seed], first })
      else if (known.seeds.at(-1) !== seed) known.seeds.push(seed)
    }
  }

  lines(): readonly string[] {
    return [
      `${this.#seeds} seeds of the link, ${this.#failed} with violations; ` +
        `${(this.#virtualMs / 3_600_000).toFixed(1)} h of virtual time, ${this.#published} publications, ` +
        `checksum ${this.#digest}`,
      ...[...this.#faults].map(([kind, count]) => `${String(count).padStart(8)}  ${kind}`),
      ...[...this.#violations].flatMap(([kind, { seeds, first }]) => [
        `${kind} (${seeds.length} seeds: ${seeds.slice(0, 8).join(' ')})`,
        `  npm run simulate -- --link --seed ${seeds[0]}`,
        `  at ${new Date(first.atMs).toISOString()} ${first.coin ?? ''} ${first.detail}`,
      ]),
    ]
  }
}
