import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { invalidRequest, parsedMessage } from '../api/json-rpc-scope.ts'

/** The limit of the SDK for one line with its end; it closes the connection at a longer one. */
const LINE_BYTES_MAX = 10 * 1_024 * 1_024

/**
 * The JSON-RPC frames of a stream, one per line. The SDK drops an invalid frame silently, and its sender would wait
 * forever; `answer` receives the error to send. The frames end after `beforeEnd`.
 */
export function checkedFrames(
  input: Readable,
  answer: (error: object) => void,
  beforeEnd: () => Promise<void> = async () => {},
): Transform {
  let rest = ''
  /** The rest of a frame that was answered as too long is discarded. */
  let isDiscarding = false
  const push = (line: string): void => {
    if (line.trim() === '') return
    const error = errorOf(line)
    // One by one, because the limit of the SDK applies to what it receives at a time.
    if (error === null) frames.push(`${line}\n`)
    else answer(error)
  }
  const frames = new Transform({
    decodeStrings: false,
    transform(chunk: string, _encoding, done) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      if (isDiscarding && lines.length > 0) {
        lines.shift()
        isDiscarding = false
      }
      lines.forEach(push)
      if (!isDiscarding && isTooLong(rest)) {
        answer(tooLong())
        isDiscarding = true
      }
      if (isDiscarding) rest = ''
      done()
    },
    flush(done) {
      push(rest)
      void beforeEnd().then(() => done())
    },
  })
  return input.setEncoding('utf8').pipe(frames)
}

function isTooLong(line: string): boolean {
  return Buffer.byteLength(line) >= LINE_BYTES_MAX
}

function tooLong(): object {
  return invalidRequest('The message exceeds 10 MiB.')
}

function errorOf(line: string): object | null {
  if (isTooLong(line)) return tooLong()
  const parsed = parsedMessage(line)
  if ('error' in parsed) return parsed.error
  try {
    parseJSONRPCMessage(parsed.message)
    return null
  } catch {
    return invalidRequest(
      'The message is neither a request, a notification nor a response.',
      parsed.message['id'],
    )
  }
}
