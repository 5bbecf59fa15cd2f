import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { verify } from './verify.ts'

test('a file may begin with a byte order mark', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-verify-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'answer.json')
  const receipt = { success: true, transaction: '0x1', network: 'eip155:8453' }
  writeFileSync(path, `\ufeff${JSON.stringify({ path: '/pulse/BTC', answer: {}, receipt })}`)
  const written: string[] = []
  expect(await verify(path, { json: true }, (text) => written.push(text))).toBe(1)
  expect(written.join('')).toContain('has no signature')
})
