import type { OperatingError } from '../domain/errors.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import type { Recorder } from './recording.ts'
import { recorderOf } from './recording.ts'
import { systemClock } from './system-clock.ts'

/** What `--record` asks for. */
export type RecordingOptions = { readonly path: string; readonly bytesMax: number }

/** A recorder and the file behind it. */
export type FileRecorder = { readonly recorder: Recorder; readonly log: FrameLogWriter }

/** @throws OperatingError when the file is none that can be continued. */
export async function openRecorder(
  { path, bytesMax }: RecordingOptions,
  onStopped: (cause: OperatingError) => void,
): Promise<FileRecorder> {
  const log = await FrameLogWriter.open(path, { bytesMax, clock: systemClock, onStopped })
  return { recorder: recorderOf((recorded) => log.append(recorded)), log }
}
