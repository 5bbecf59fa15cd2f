import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'
import { mayColor } from '../config/environment.ts'
import type { LogOptions } from '../config/option.ts'

/** Logs go to standard error, because standard output is for the result of a command. */
const STDERR = 2

/** @param onLine receives every line, as JSON */
export function processLogger(options: LogOptions, onLine: OnLine | null = null): Promise<Logger> {
  return logger('perpscope', options, false, onLine)
}

/** A worker thread can be terminated at any moment, so its lines are written at once. */
export function engineLogger(options: LogOptions, onLine: OnLine | null = null): Promise<Logger> {
  return logger('engine', options, true, onLine)
}

type OnLine = (line: string) => void

async function logger(
  name: string,
  { logLevel: level, logFormat }: LogOptions,
  sync: boolean,
  onLine: OnLine | null,
): Promise<Logger> {
  const streamWrite = (line: string) => {
    onLine?.(line)
    return line
  }
  const options = { name, level, ...(onLine !== null && { hooks: { streamWrite } }) }
  // A thread's `process.stderr` is never a terminal.
  const isTTY = isatty(STDERR)
  if (logFormat === 'json' || (logFormat === 'auto' && !isTTY))
    return pino(options, logDestination(STDERR, sync))
  const { default: pretty } = await import('pino-pretty')
  return pino(
    options,
    pretty({
      destination: STDERR,
      sync: true,
      colorize: mayColor({ isTTY }),
      translateTime: 'SYS:HH:MM:ss',
      ignore: 'pid,hostname',
      singleLine: true,
    }),
  )
}

/** Lines that wait for a disk with room; newer ones are dropped. */
const WAITING_BYTES_MAX = 1_048_576

/**
 * Standard error may be a file on a disk that is full. Lines wait then, and the service continues; at the end of the
 * process they are lost, because the flush would wait for room for ever.
 */
export function logDestination(fd: number, sync: boolean): ReturnType<typeof destination> {
  const stream = destination({ fd, sync, maxLength: WAITING_BYTES_MAX })
  let isFailing = false
  stream.on('error', () => {
    isFailing = true
  })
  stream.on('write', () => {
    isFailing = false
  })
  const flushSync = stream.flushSync.bind(stream)
  stream.flushSync = () => {
    if (!isFailing) flushSync()
  }
  return stream
}
