import { brotliDecompressSync } from 'node:zlib'
import Fastify from 'fastify'
import { expect, test, vi } from 'vitest'
import { compressed } from './content-coding.ts'
import { freeDocument, sendDocument } from './send-document.ts'

vi.mock('./content-coding.ts', async (original) => {
  const real = await original<typeof import('./content-coding.ts')>()
  return { ...real, compressed: vi.fn(real.compressed) }
})

test('a document that could not be compressed is compressed for the next caller', async () => {
  const document = freeDocument('text/plain', 'the same again, '.repeat(1_000))
  const app = Fastify()
  app.get('/', (request, reply) => {
    sendDocument(request, reply, document)
  })
  const read = () => app.inject({ url: '/', headers: { 'accept-encoding': 'br' } })

  vi.mocked(compressed).mockRejectedValueOnce(new Error('no memory'))
  expect((await read()).statusCode).toBe(500)
  const { statusCode, rawPayload } = await read()
  expect(statusCode).toBe(200)
  expect(brotliDecompressSync(rawPayload)).toEqual(document.bytes)
  await read()
  expect(compressed, 'and not for those after them').toHaveBeenCalledTimes(2)
})
