import { rules } from './books.ts'
import type { ChaosResult } from './chaos.ts'

const VIOLATIONS_SHOWN_MAX = 5

/** Report of a run, line by line. */
export function reportOf(result: ChaosResult, elapsedMs: number, command: string): string[] {
  const { ended, requests, kills, payments, charges, refetched, violations } = result
  return [
    `seed ${result.seed}: ${ended} purchases, ${payments} payments signed, ${requests} requests, ` +
      `${kills} kills, ${(elapsedMs / 1_000).toFixed(0)} s`,
    `${charges} charges on chain, ${refetched} of their answers fetched once more at the end`,
    '',
    'replies',
    ...counted(result.replies),
    '',
    'faults of facilitators and of the node',
    ...counted(result.faults),
    '',
    violations.length === 0 ? 'no violations' : `violations: ${command}`,
    ...rules.flatMap((rule) => {
      const found = violations.filter((violation) => violation.rule === rule)
      if (found.length === 0) return []
      const shown = found.slice(0, VIOLATIONS_SHOWN_MAX)
      return [
        line(found.length, rule),
        ...shown.map(({ nonce, detail }) => `    ${nonce}: ${detail}`),
      ]
    }),
  ]
}

function counted(counts: ReadonlyMap<string, number>): string[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => line(count, name))
}

function line(count: number, name: string): string {
  return `${String(count).padStart(8)}  ${name}`
}
