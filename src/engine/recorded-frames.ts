import { readFrameLog } from '../store/frame-log-reader.ts'
import type { Recorded } from './recording.ts'

/** Frames after a longer pause are left out, because prices before and after it are not continuous. */
const PAUSE_MS_MAX = 600_000

/**
 * The text frames of a recording up to its first long pause, in order of arrival, without damaged blocks.
 * @throws OperatingError if the file cannot be read or is not a recording of this version
 */
export function* recordedFrames(path: string): Generator<string> {
  let lastMs = Number.NaN
  for (const piece of readFrameLog(path)) {
    if (piece.kind === 'loss') continue
    // Header and checksums prove that a recorder of this format wrote the values.
    for (const { atMs, entry } of piece.values as readonly Recorded[]) {
      if (entry.kind !== 'frame') continue
      if (atMs - lastMs > PAUSE_MS_MAX) return
      lastMs = atMs
      yield entry.text
    }
  }
}
