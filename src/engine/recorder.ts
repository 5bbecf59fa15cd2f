import type { Clock } from '../domain/clock.ts'
import type { OperatingError } from '../domain/errors.ts'
import { reasonOf } from '../domain/errors.ts'
import type { RecordingHealth } from '../link/message.ts'
import { FrameLogWriter } from '../store/frame-log-writer.ts'
import type { Recorder } from './recording.ts'
import { recorderOf } from './recording.ts'

/** The file of `--record` and its maximum size. */
export type RecordingFile = { readonly path: string; readonly bytesMax: number }

type FileRecorder = { readonly recorder: Recorder; readonly log: FrameLogWriter }

/** @throws OperatingError if the file is not a recording that can be continued */
export async function openRecorder(
  { path, bytesMax }: RecordingFile,
  clock: Clock,
  onStopped: (cause: OperatingError) => void,
): Promise<FileRecorder> {
  const log = await FrameLogWriter.open(path, { bytesMax, clock, onStopped })
  return { recorder: recorderOf((recorded) => log.append(recorded)), log }
}

/** The recording of an engine that continues without it when it fails. */
export type ServedRecording = {
  /** undefined if the file cannot be opened. */
  readonly recorder: Recorder | undefined
  health(): RecordingHealth
  close(): Promise<void>
}

/** A failure is passed to `onStopped` once, and stays in `health`. */
export async function recordWhileServing(
  file: RecordingFile,
  clock: Clock,
  onStopped: (cause: unknown) => void,
): Promise<ServedRecording> {
  let health: RecordingHealth = { state: 'on', reason: null, sinceMs: clock.nowMs() }
  const stopped = (cause: unknown) => {
    health = { state: 'stopped', reason: reasonOf(cause), sinceMs: clock.nowMs() }
    onStopped(cause)
  }
  const opened = await openRecorder(file, clock, stopped).catch(stopped)
  return {
    recorder: opened?.recorder,
    health: () => health,
    close: async () => opened?.log.close(),
  }
}
