import { brotliDecompressSync } from 'node:zlib'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { freeDocument, sendDocument } from './send-document.ts'

test('a document that could not be compressed is compressed for the next caller', async () => {
  const whole = freeDocument('text/plain', 'the same again, '.repeat(1_000))
  const refusedByZlib = { length: whole.length } as Buffer
  let bytes = refusedByZlib
  const document = { ...whole, bytes: () => bytes }
  const app = Fastify()
  app.get('/', (request, reply) => {
    sendDocument(request, reply, document)
  })
  const read = () => app.inject({ url: '/', headers: { 'accept-encoding': 'br' } })

  expect((await read()).statusCode).toBe(500)
  bytes = whole.bytes()
  const { statusCode, rawPayload } = await read()
  expect(statusCode).toBe(200)
  expect(brotliDecompressSync(rawPayload)).toEqual(whole.bytes())
})

test('packed content is unpacked once, however many callers take no coding', () => {
  let unpacked = 0
  const bytes = () => {
    unpacked += 1
    return Buffer.from('page')
  }
  const document = freeDocument('text/html', { bytes, coded: {} })
  unpacked = 0
  expect([document.bytes(), document.bytes()].map(String)).toEqual(['page', 'page'])
  expect(unpacked).toBe(1)
})
