import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { checkedFrames } from './checked-frames.ts'

const MIB = 1_024 * 1_024
const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** What passes of these chunks, and what their sender is told. */
async function checked(...chunks: (string | Buffer)[]) {
  const input = new PassThrough()
  const errors: object[] = []
  const passed = text(checkedFrames(input, (error) => errors.push(error)))
  for (const chunk of chunks) input.write(chunk)
  input.end()
  return { passed: await passed, errors }
}

describe('frames on standard input', () => {
  test.each([
    ['junk', 'hello', -32700, null],
    ['half a frame', '{"jsonrpc":"2.0",', -32700, null],
    ['a frame without jsonrpc', '{"id":7,"method":"ping"}', -32600, 7],
    ['a batch', JSON.stringify([call, call]), -32600, null],
    ['an empty batch', '[]', -32600, null],
    ['text', '"ping"', -32600, null],
    ['a frame without a method', '{"jsonrpc":"2.0","id":"a"}', -32600, 'a'],
    ['a request whose id is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, null],
  ])('%s is answered, and the frame after it passes', async (_what, line, code, id) => {
    const { passed, errors } = await checked(`${line}\n${JSON.stringify(call)}\n`)
    expect(errors).toMatchObject([{ jsonrpc: '2.0', id, error: { code } }])
    expect(passed).toBe(`${JSON.stringify(call)}\n`)
  })

  test('pass as they are, in any chunks, the last without its line end too', async () => {
    const lines = [
      call,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, result: {} },
      { ...call, id: 3, params: { name: 'Größe 📈' } },
    ].map((frame) => JSON.stringify(frame))
    const bytes = Buffer.from(`${lines.join('\r\n')}`)
    const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))
    const { passed, errors } = await checked(...single)
    expect(errors).toEqual([])
    expect(passed.split(/\r?\n/)).toEqual([...lines, ''])
  })

  test('that are empty are nothing', async () => {
    expect(await checked('\n\r\n', '\n')).toEqual({ passed: '', errors: [] })
  })

  test.each([
    ['in one chunk', [`${'x'.repeat(11 * MIB)}\n`]],
    ['in many chunks', [...Array.from({ length: 24 }, () => 'x'.repeat(MIB)), 'x\n']],
    ['of few characters with many bytes', [`"${'€'.repeat(4 * MIB)}"\n`]],
  ])('above 10 MiB %s are answered once, and the frame after them passes', async (_how, long) => {
    const { passed, errors } = await checked(...long, `${JSON.stringify(call)}\n`)
    expect(errors).toEqual([
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'The message exceeds 10 MiB.' } },
    ])
    expect(passed).toBe(`${JSON.stringify(call)}\n`)
  })

  test('pass one by one, however many bytes they have together', async () => {
    const line = `${JSON.stringify({ ...call, params: { text: 'x'.repeat(6 * MIB) } })}\n`
    const input = new PassThrough()
    const sizes: number[] = []
    const frames = checkedFrames(input, () => {}).on('data', ({ length }: Buffer) =>
      sizes.push(length),
    )
    input.end(line + line)
    await finished(frames)
    expect(sizes).toEqual([line.length, line.length])
  })

  test('end after the hook, which follows the last of them', async () => {
    const input = new PassThrough()
    const events: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const frames = checkedFrames(
      input,
      () => {},
      () => {
        events.push('hook')
        return promise
      },
    )
    frames.on('data', () => events.push('frame')).on('end', () => events.push('end'))
    input.end(JSON.stringify(call))
    await expect.poll(() => events).toEqual(['frame', 'hook'])
    resolve()
    await finished(frames)
    expect(events).toEqual(['frame', 'hook', 'end'])
  })
})
