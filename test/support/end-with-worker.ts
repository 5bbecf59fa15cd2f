const MARK = Symbol.for('perpscope.end-with-worker')

/**
 * Vitest ends its workers by SIGTERM, and Node does not count that as an exit: what a failed or a shared fixture has
 * started, and would kill at exit by its own handle, would go on. So would a worker whose parent was killed.
 */
function endWithWorker(): void {
  process.emit('exit', 143)
  process.kill(process.pid, 'SIGKILL')
}

// Setup files are run for every file of a worker.
if (!Reflect.has(globalThis, MARK)) {
  Reflect.set(globalThis, MARK, true)
  process.once('SIGTERM', endWithWorker)
  process.once('disconnect', endWithWorker)
}
