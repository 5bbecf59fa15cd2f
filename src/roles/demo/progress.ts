import { terminalSpinner } from '../terminal-spinner.ts'

export type DemoProgress = {
  /** Begins a stage. */
  stage(text: string): void
  /** DemoProgress within a stage; shown on a terminal only. */
  detail(text: string): void
  stop(): void
}

/** A spinner on a terminal, otherwise one line per stage on standard error. */
export function startProgress(): DemoProgress {
  const spinner = terminalSpinner(process.stderr)
  if (spinner === null) {
    const stage = (text: string) => void process.stderr.write(`${text}\n`)
    return { stage, detail: () => undefined, stop: () => undefined }
  }
  spinner.start('starting')
  const show = (text: string) => {
    spinner.text = text
  }
  return { stage: show, detail: show, stop: () => void spinner.stop() }
}
