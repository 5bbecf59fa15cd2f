import { pulseRows } from '../compute/indicators/pulse-rows.ts'
import { readCandleFile } from '../store/candle-file.ts'

/** `perpscope indicators FILE`: the pulse indicators of a candle file, one JSON object a closed bar. */
export function printIndicators(path: string, write: (line: string) => void): void {
  for (const row of pulseRows(readCandleFile(path))) write(`${JSON.stringify(row)}\n`)
}
