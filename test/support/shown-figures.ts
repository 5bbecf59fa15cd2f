import type { Page } from 'playwright-core'
import { NOTHING, word } from '../../src/console/components/format.ts'

/** A panel of a view with the version of its document. */
export type ShownPanel = {
  readonly name: string
  readonly version: string
  readonly figures: readonly { readonly path: string; readonly text: string }[]
}

/** All panels that have an answer, as they are at one moment. */
export function shownPanels(page: Page): Promise<readonly ShownPanel[]> {
  return page.locator('[data-document][data-version]').evaluateAll((panels) =>
    panels.map((panel) => ({
      name: panel.getAttribute('data-document') ?? '',
      version: panel.getAttribute('data-version') ?? '',
      figures: [...panel.querySelectorAll('.figure[data-path]')].map((figure) => ({
        path: figure.getAttribute('data-path') ?? '',
        text: figure.querySelector('dd')?.textContent ?? '',
      })),
    })),
  )
}

type Answer = { readonly [member: string]: unknown }

/** Figures that show a member in another unit, or another member than the one whose definition they have. */
const shownAs: Readonly<Record<string, (answer: Answer) => unknown>> = {
  'funding.current_rate': (answer) => 1e4 * Number(memberOf(answer, 'funding.current_rate')),
  'lead_lag.lag_seconds': (answer) => sizeOf(memberOf(answer, 'lead_lag.lag_seconds')),
  level: (answer) => answer['level_name'],
}

/** Ages, and the price of another document. */
const ofAnotherKind: ReadonlySet<string> = new Set([
  'regime.since',
  'level_since_iso',
  'basis.venue_oracle_price',
])

/** Figures of a panel that are not those of an answer. */
export function wrongFigures({ figures }: ShownPanel, answer: Answer): readonly string[] {
  return figures.flatMap(({ path, text }) => {
    const value = (shownAs[path] ?? ((of: Answer) => memberOf(of, path)))(answer)
    return ofAnotherKind.has(path) || shows(text, value) ? [] : [`${path}: ${text} is not ${value}`]
  })
}

function memberOf(answer: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((of, name) => (of as Answer | null | undefined)?.[name], answer)
}

function sizeOf(value: unknown): unknown {
  return typeof value === 'number' ? Math.abs(value) : value
}

/** An object has no one figure. */
function shows(text: string, value: unknown): boolean {
  if (value == null) return text.startsWith(NOTHING)
  if (typeof value === 'string') return text.includes(word(value))
  if (typeof value !== 'number') return true
  const shown = numberIn(text)
  if (shown === null) return false
  // A share is 0 % or 100 % only for none and all.
  const isBounded = shown.unit === 1 && [1, 99].includes(shown.value)
  return Math.abs(shown.value - value) <= (isBounded ? 1 : 0.501) * shown.unit
}

const powers: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, B: 1e9, T: 1e12 }

/** The first number of a text, and the value of its last digit. */
function numberIn(text: string): { readonly value: number; readonly unit: number } | null {
  const found = /([-+]?\d+(?:\.(\d+))?)([KMBT](?![a-z]))?/.exec(text.replaceAll(/[$,]/g, ''))
  if (found === null) return null
  const [, digits = '', decimals = '', power = ''] = found
  const factor = powers[power] ?? 1
  return { value: Number(digits) * factor, unit: factor * 10 ** -decimals.length }
}
