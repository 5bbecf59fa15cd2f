import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { collected } from '../../test/support/collected.ts'
import { fillsHours, linesOf } from './fills-folder.ts'

describe('a folder of hourly fills', () => {
  let dir: string

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'perpscope-fills-'))
  })

  afterEach(() => rmSync(dir, { recursive: true }))

  function put(name: string, bytes: string | Buffer = ''): string {
    const path = join(dir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    return path
  }

  test('is read by day and hour, in the order of time and not of names', () => {
    for (const name of ['20260716/0', '20260715/9.gz', '20260715/10.json.gz', '20260715/23.jsonl'])
      put(`node_fills_by_block/hourly/${name}`)
    put('node_fills/hourly/20260715/09')
    for (const name of ['README.md', '20260715/24', '20260230/1', '2026/1', '20260715/x.gz'])
      put(name)
    const hours = fillsHours(dir)
    expect(hours.map(({ startMs }) => new Date(startMs).toISOString().slice(0, 13))).toEqual([
      ...['2026-07-15T09', '2026-07-15T10', '2026-07-15T23', '2026-07-16T00'],
    ])
    expect(hours[0]?.paths).toEqual([
      join(dir, 'node_fills/hourly/20260715/09'),
      join(dir, 'node_fills_by_block/hourly/20260715/9.gz'),
    ])
  })

  test('may be the folder of a day, or one of links', () => {
    const path = put('20260715/14')
    expect(fillsHours(dirname(path))).toEqual([
      { startMs: Date.UTC(2026, 6, 15, 14), paths: [path] },
    ])
    mkdirSync(join(dir, 'links/20260715'), { recursive: true })
    symlinkSync(path, join(dir, 'links/20260715/14'))
    expect(fillsHours(join(dir, 'links'))).toHaveLength(1)
  })

  test('with LZ4 files is refused with the command that recompresses them', () => {
    const path = put("it's/20260715/14.lz4")
    const refused = () => fillsHours(join(dir, "it's"))
    expect(refused).toThrow(`${path}: LZ4 is not read: recompress the files with find '`)
    expect(refused).toThrow(
      `-name '*.lz4' -exec sh -c 'lz4 -dc "$1" | gzip -1 > "\${1%.lz4}.gz"' - {} ';'`,
    )
    put("it's/20260715/14.gz")
    expect(fillsHours(join(dir, "it's"))).toHaveLength(1)
    put("it's/20260715/15.zst")
    expect(refused).toThrow(/15\.zst: only plain and \.gz files are read/)
  })

  test('without such files, or that does not exist, is refused', () => {
    put('14.gz')
    expect(() => fillsHours(dir)).toThrow(/has no hourly fills such as 20260715\/14\.gz/)
    expect(() => fillsHours(join(dir, 'none'))).toThrow(/none cannot be read/)
  })

  test('gives the lines of plain and gzipped files, however they lie in the chunks', async () => {
    const line = 'é'.repeat(700_001)
    const text = `${line}\n\nshort\n${line}`
    for (const path of [put('a', text), put('a.gz', gzipSync(text))])
      expect((await collected(linesOf(path))).flat()).toEqual([line, '', 'short', line])
  })

  test('gives the lines before the damage of a gzipped file', async () => {
    const bytes = gzipSync(`${'a line\n'.repeat(1_000_000)}`)
    const damaged = async (path: string) => {
      let count = 0
      try {
        for await (const lines of linesOf(path)) count += lines.length
      } catch (cause) {
        return { count, cause }
      }
      return expect.fail('it is damaged')
    }
    const { count, cause } = await damaged(put('torn.gz', bytes.subarray(0, -1_000)))
    expect(cause).toMatchObject({ code: 'fills_damaged' })
    expect(count).toBeGreaterThan(100)
    expect(
      (await damaged(put('more.gz', Buffer.concat([bytes, Buffer.from('more')])))).cause,
    ).toMatchObject({ code: 'fills_damaged' })
    for (const at of [bytes.length - 8, bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      const wrong = await damaged(put('wrong.gz', changed))
      expect(wrong.cause, 'checksum and length').toMatchObject({ code: 'fills_corrupt' })
    }
    expect((await damaged(put('no.gz', 'no gzip'))).cause).toMatchObject({ code: 'fills_damaged' })
    expect((await damaged(join(dir, 'none.gz'))).cause).toMatchObject({ code: 'fills_file' })
    expect((await damaged(dir)).cause).toMatchObject({ code: 'fills_file' })
  })
})
