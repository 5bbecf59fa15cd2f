import { readFrameLog } from '../store/frame-log-reader.ts'
import type { Recorded } from './recording.ts'

/** After a longer pause the market is another one: what follows is left out. */
const PAUSE_MS_MAX = 600_000

/**
 * The text frames of a recording up to its first long pause, in the order of their arrival. What is
 * damaged is left out.
 *
 * @throws OperatingError when the file cannot be read, or is no recording of this version.
 */
export function* recordedFrames(path: string): Generator<string> {
  let heardAtMs = Number.NaN
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') continue
    // Title and checksum say that a recorder of this format wrote them.
    for (const { atMs, entry } of piece.values as readonly Recorded[]) {
      if (entry.kind !== 'frame') continue
      if (atMs - heardAtMs > PAUSE_MS_MAX) return
      heardAtMs = atMs
      yield entry.text
    }
  }
}
