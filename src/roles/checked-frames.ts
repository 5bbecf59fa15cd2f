import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { invalidRequest, parsedMessage } from '../api/json-rpc-scope.ts'

/** The limit of the SDK for one line. */
const LINE_CHARACTERS_MAX = 10 * 1_024 * 1_024

/**
 * The JSON-RPC frames of a stream, one per line. The SDK drops an invalid frame silently, and its sender would wait
 * forever; `answer` receives the error to send.
 */
export function checkedFrames(input: Readable, answer: (error: object) => void): Readable {
  let rest = ''
  const checked = (line: string): string => {
    if (line.trim() === '') return ''
    const error = errorOf(line)
    if (error === null) return `${line}\n`
    answer(error)
    return ''
  }
  const frames = new Transform({
    decodeStrings: false,
    transform(chunk: string, _encoding, done) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LINE_CHARACTERS_MAX) done(new RangeError('a frame is too long'))
      else done(null, lines.map(checked).join(''))
    },
    flush(done) {
      done(null, checked(rest))
    },
  })
  return input.setEncoding('utf8').pipe(frames)
}

function errorOf(line: string): object | null {
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
