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
    return pino(options, destination({ fd: STDERR, sync }))
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
