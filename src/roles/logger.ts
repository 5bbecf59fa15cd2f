import type { Logger } from 'pino'
import { destination, pino } from 'pino'

/** Logs go to standard error: standard output belongs to what a command was asked for. */
const STDERR = 2

export function processLogger(level: string): Logger {
  return pino({ name: 'perpscope', level }, destination({ fd: STDERR, sync: false }))
}

/** A worker thread can be terminated at any moment, so its lines are written at once. */
export function engineLogger(level: string): Logger {
  return pino({ name: 'engine', level }, destination({ fd: STDERR, sync: true }))
}
