import type { Ora } from 'ora'
import ora from 'ora'

/** null where no line can be redrawn. A terminal can report 0 columns, and ora would count its lines without end. */
export function terminalSpinner(stream: NodeJS.WriteStream): Ora | null {
  if (!(stream.isTTY && stream.columns > 0)) return null
  // Its types lack the member.
  const spinner = ora({ stream }) as Ora & { readonly isEnabled: boolean }
  // With CI or TERM=dumb it would print every text as a line.
  return spinner.isEnabled ? spinner : null
}
