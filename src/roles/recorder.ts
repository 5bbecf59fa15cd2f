import type { Clock } from '../domain/clock.ts'
import type { OperatingError } from '../domain/errors.ts'
import { reasonOf } from '../domain/errors.ts'
import type { RecordingHealth } from '../link/message.ts'
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

/** What an engine that is there to serve is recorded by, for as long as that works. */
export type ServedRecording = {
  /** undefined where the file cannot be opened. */
  readonly recorder: Recorder | undefined
  health(): RecordingHealth
  close(): Promise<void>
}

/** Does without a file that fails: `onStopped` tells of it once, `health` for as long as anybody asks. */
export async function recordWhileServing(
  recording: RecordingOptions,
  clock: Pick<Clock, 'nowMs'>,
  onStopped: (cause: unknown) => void,
): Promise<ServedRecording> {
  let health: RecordingHealth = { state: 'on', reason: null, sinceMs: clock.nowMs() }
  const goOnWithout = (cause: unknown) => {
    health = { state: 'stopped', reason: reasonOf(cause), sinceMs: clock.nowMs() }
    onStopped(cause)
  }
  const opened = await openRecorder(recording, goOnWithout).catch(goOnWithout)
  return {
    recorder: opened?.recorder,
    health: () => health,
    close: async () => opened?.log.close(),
  }
}
