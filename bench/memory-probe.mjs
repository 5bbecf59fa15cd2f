// Loaded into every thread of a service that is measured: writes what its isolate holds into a file, every second.
import { rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { getHeapStatistics } from 'node:v8'
import { isMainThread, threadId } from 'node:worker_threads'

const folder = new URL(import.meta.url).searchParams.get('folder')
const file = `${folder}/${threadId}.json`
const children = []
// A thread for WAL checkpoints lives for seconds.
process.once('exit', () => rmSync(file, { force: true }))
process.on('worker', (worker) => {
  children.push(worker)
  worker.once('exit', () => children.splice(children.indexOf(worker), 1))
})

setInterval(async () => {
  const { heapTotal, heapUsed, external } = process.memoryUsage()
  const own = {
    part: isMainThread ? 'gateway' : 'engine',
    heapTotal,
    heapUsed,
    external,
    // Parsing, compiling and collecting.
    malloced: getHeapStatistics().malloced_memory,
  }
  // Its worker waits for jobs in a way that no timer of its own can interrupt.
  const isAskable = !isMainThread && typeof children[0]?.getHeapStatistics === 'function'
  // A thread that ends rejects, and a rejection that nobody handles would end the engine.
  const answers = await Promise.allSettled(
    isAskable ? children.map((worker) => worker.getHeapStatistics()) : [],
  )
  const ofWorkers = answers.flatMap(({ value }) => (value === undefined ? [] : [ofWorker(value)]))
  writeFileSync(file, JSON.stringify([own, ...ofWorkers]))
}, 1_000).unref()

function ofWorker(statistics) {
  return {
    part: 'market worker',
    heapTotal: statistics.total_heap_size,
    heapUsed: statistics.used_heap_size,
    external: statistics.external_memory,
    malloced: statistics.malloced_memory,
  }
}
