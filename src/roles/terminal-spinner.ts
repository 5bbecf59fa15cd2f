import type { Ora } from 'ora'
import ora from 'ora'

/** null where no line can be redrawn. A terminal can report 0 columns, and ora would count its lines without end. */
export function terminalSpinner(stream: NodeJS.WriteStream): Ora | null {
  return stream.isTTY && stream.columns > 0 ? ora({ stream }) : null
}
