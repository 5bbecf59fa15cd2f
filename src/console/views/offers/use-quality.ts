import type { ReadonlySignal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ConsoleQuality } from '../../../domain/console-protocol.ts'

const PERIOD_MS = 10_000

type Qualities = ReadonlyMap<string, ConsoleQuality>

/** The quality of every analysis now, by its id; empty before the first reply. */
export function useQuality(): ReadonlySignal<Qualities> {
  const known = useSignal<Qualities>(new Map())
  useEffect(() => {
    const load = async () => {
      const response = await fetch('/console/quality.json')
      if (!response.ok) return
      const qualities = (await response.json()) as readonly ConsoleQuality[]
      known.value = new Map(qualities.map((one) => [one.id, one]))
    }
    // A lost connection is reported for the whole page; the next period tries again.
    const attempt = () => void load().catch(() => {})
    attempt()
    const timer = setInterval(attempt, PERIOD_MS)
    return () => clearInterval(timer)
  }, [])
  return known
}
