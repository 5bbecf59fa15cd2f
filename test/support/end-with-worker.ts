const MARK = Symbol.for('perpscope.end-with-worker')

/**
 * Vitest ends its workers by SIGTERM, on which Node does not emit `exit`: processes of a failed or shared fixture,
 * which are killed on `exit`, would keep running. So would a worker whose parent was killed.
 */
function endWithWorker(): void {
  process.emit('exit', 143)
  process.kill(process.pid, 'SIGKILL')
}

// Setup files run once per test file of a worker.
if (!Reflect.has(globalThis, MARK)) {
  Reflect.set(globalThis, MARK, true)
  process.once('SIGTERM', endWithWorker)
  process.once('disconnect', endWithWorker)
}
