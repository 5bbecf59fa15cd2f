import { systemClock } from './system-clock.ts'
import { terminalSpinner } from './terminal-spinner.ts'

const PERIOD_MS = 500

export type DrawnProgress = { show(text: () => string): void; stop(): void }

/** A line on the terminal that is drawn between steps, for work that leaves no time for timers. */
export function startDrawnProgress(): DrawnProgress {
  const line = terminalSpinner(process.stderr)
  let shownMs = systemClock.nowMs()
  return {
    show: (text) => {
      if (line === null || systemClock.nowMs() - shownMs < PERIOD_MS) return
      shownMs = systemClock.nowMs()
      line.text = text()
      line.render()
    },
    stop: () => void line?.clear(),
  }
}
