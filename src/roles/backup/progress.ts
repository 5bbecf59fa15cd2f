import { size } from '../doctor/files.ts'
import { terminalSpinner } from '../terminal-spinner.ts'

/** Progress of copying on a terminal. */
export type Progress = {
  copied(name: string, done: number, total: number): void
  checking(name: string): void
  end(): void
}

/** Shows nothing if the stream is not a terminal. */
export function terminalProgress(stream: NodeJS.WriteStream): Progress {
  const spinner = terminalSpinner(stream)
  const say = (text: string) => {
    if (spinner === null) return
    spinner.text = text
    if (!spinner.isSpinning) spinner.start()
  }
  return {
    copied: (name, done, total) => {
      const share = total === 0 ? 100 : Math.floor((100 * done) / total)
      say(`${name}: ${share} % of ${size(total)}`)
    },
    checking: (name) => say(`${name}: verifying`),
    end: () => void spinner?.stop(),
  }
}
