import type { FileHandle } from 'node:fs/promises'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { brotliCompress, constants } from 'node:zlib'
import type { Clock } from '../domain/clock.ts'
import { OperatingError } from '../domain/errors.ts'
import { checkFileHeader, encodeBlock, FILE_HEADER } from './frame-log.ts'

/**
 * Larger blocks compress better, by 6 % at four times the size, and a killed process loses more.
 */
const BLOCK_TEXT_BYTES = 64 * 1024
const FLUSH_PERIOD_MS = 1_000
/** Bytes that may wait for the disk, about a minute of all frames. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024
/** As small as deflate at level 6, 3 times as fast: 200 MB a second on one core. */
const COMPRESSION = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_LGWIN]: 18 },
}

export type FrameLogOptions = {
  /** Maximum size of the file. */
  readonly bytesMax: number
  readonly clock: Clock
  /**
   * Called once when the recording ends by itself: `recording_full` at the size that it may have,
   * `recording_behind` when the disk is too slow, `recording_failed` when it refuses.
   */
  readonly onStopped: (cause: OperatingError) => void
}

export type FrameLogProgress = {
  readonly values: number
  /** Size of the file. */
  readonly fileBytes: number
  /** Age of the oldest value that is not in the file yet: what a killed process would lose. */
  readonly lagMs: number
}

type Waiting = { readonly lines: string[]; bytes: number; readonly sinceMs: number }

/**
 * Appends values to a log. Compressing and writing happen in other threads, one block after the
 * other, at least once a second; what waits for them is bounded. A log that cannot go on stops for
 * good and reports it. `append` never waits and never fails.
 */
export class FrameLogWriter {
  readonly #path: string
  readonly #file: FileHandle
  readonly #options: FrameLogOptions
  readonly #stopFlushing: () => void
  readonly #sealed: Waiting[] = []
  #open: Waiting | null = null
  #writing: Promise<void> | null = null
  #waitingBytes = 0
  #sequence = 0
  #values = 0
  #fileBytes: number
  #isOver = false

  private constructor(path: string, file: FileHandle, fileBytes: number, options: FrameLogOptions) {
    this.#path = path
    this.#file = file
    this.#fileBytes = fileBytes
    this.#options = options
    this.#stopFlushing = options.clock.every(FLUSH_PERIOD_MS, () => void this.flush())
  }

  /**
   * Opens a file to append to it, or creates one.
   *
   * @throws OperatingError when it is no recording of this version, or cannot be written.
   */
  static async open(path: string, options: FrameLogOptions): Promise<FrameLogWriter> {
    let file: FileHandle | undefined
    try {
      await mkdir(dirname(path), { recursive: true })
      file = await open(path, 'a+')
      const { size } = await file.stat()
      if (size === 0) await file.appendFile(FILE_HEADER)
      else checkFileHeader(path, await beginningOf(file))
      return new FrameLogWriter(path, file, size || FILE_HEADER.length, options)
    } catch (cause) {
      await file?.close()
      if (cause instanceof OperatingError) throw cause
      throw new OperatingError('recording_unusable', `${path} cannot be written`, { cause })
    }
  }

  /** Appends a JSON value. It is serialised now, so it may change afterwards. */
  append(value: object): void {
    if (this.#isOver) return
    const line = JSON.stringify(value)
    const bytes = Buffer.byteLength(line) + 1
    this.#values += 1
    this.#waitingBytes += bytes
    this.#open ??= { lines: [], bytes: 0, sinceMs: this.#options.clock.nowMs() }
    this.#open.lines.push(line)
    this.#open.bytes += bytes
    if (this.#waitingBytes > WAITING_BYTES_MAX)
      this.#stop('recording_behind', `${this.#waitingBytes} bytes wait for the disk`)
    else if (this.#open.bytes >= BLOCK_TEXT_BYTES) void this.flush()
  }

  /** Resolves when all earlier values were handed to the system, or the log has stopped. */
  flush(): Promise<void> {
    if (this.#open !== null) this.#sealed.push(this.#open)
    this.#open = null
    if (this.#sealed.length > 0) this.#writing ??= this.#writeSealed()
    return this.#writing ?? Promise.resolve()
  }

  progress(): FrameLogProgress {
    const oldest = this.#sealed[0] ?? this.#open
    const lagMs = oldest === null ? 0 : this.#options.clock.nowMs() - oldest.sinceMs
    return { values: this.#values, fileBytes: this.#fileBytes, lagMs }
  }

  /** Flushes and closes the file. Values that are appended later are lost. */
  async close(): Promise<void> {
    this.#stopFlushing()
    await this.flush()
    this.#isOver = true
    await this.#file.close()
  }

  async #writeSealed(): Promise<void> {
    try {
      for (let next = this.#sealed[0]; next !== undefined; next = this.#sealed[0]) {
        await this.#write(next)
        if (this.#isOver) return
        this.#waitingBytes -= next.bytes
        this.#sealed.shift()
      }
    } catch (cause) {
      this.#stop('recording_failed', 'it cannot be written', cause)
    } finally {
      this.#writing = null
    }
  }

  async #write({ lines }: Waiting): Promise<void> {
    const text = Buffer.from(lines.join('\n'))
    const block = encodeBlock(this.#sequence, text.length, await compressed(text))
    const fileBytes = this.#fileBytes + block.length
    if (fileBytes > this.#options.bytesMax) {
      this.#stop('recording_full', `it has reached ${this.#options.bytesMax} bytes`)
      return
    }
    await this.#file.appendFile(block)
    this.#fileBytes = fileBytes
    this.#sequence += 1
  }

  #stop(code: string, why: string, cause?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopFlushing()
    this.#sealed.length = 0
    this.#open = null
    this.#options.onStopped(
      new OperatingError(code, `the recording ${this.#path} ends: ${why}`, { cause }),
    )
  }
}

async function beginningOf(file: FileHandle): Promise<Buffer> {
  const bytes = Buffer.alloc(FILE_HEADER.length + 16)
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
  return bytes.subarray(0, bytesRead)
}

function compressed(text: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    brotliCompress(text, COMPRESSION, (cause, payload) => {
      if (cause === null) resolve(payload)
      else reject(cause)
    })
  })
}
