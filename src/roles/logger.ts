import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { destination, pino } from 'pino'
import { mayColor } from '../config/environment.ts'
import type { LogOptions } from '../config/option.ts'

/** Logs go to standard error, because standard output is for the result of a command. */
const STDERR = 2

export function processLogger(options: LogOptions): Promise<Logger> {
  return logger('perpscope', options, false)
}

/** A worker thread can be terminated at any moment, so its lines are written at once. */
export function engineLogger(options: LogOptions): Promise<Logger> {
  return logger('engine', options, true)
}

async function logger(
  name: string,
  { logLevel: level, logFormat }: LogOptions,
  sync: boolean,
): Promise<Logger> {
  // A thread's `process.stderr` is never a terminal.
  const isTTY = isatty(STDERR)
  if (logFormat === 'json' || (logFormat === 'auto' && !isTTY))
    return pino({ name, level }, destination({ fd: STDERR, sync }))
  const { default: pretty } = await import('pino-pretty')
  return pino(
    { name, level },
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
