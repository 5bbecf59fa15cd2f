import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

/** `node_modules/<name>`, as deep as the packages of a path are nested. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

test('the build lists every package that it contains, with its licence', () => {
  const notices = readFileSync(join(ROOT, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const maps = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js.map'))
    .map((file) => join(ROOT, 'dist', file))
  const sources = maps.flatMap((map) => {
    const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: readonly string[] }
    return sources.map((source) => relative(ROOT, resolve(dirname(map), source)))
  })
  const folders = new Set(sources.flatMap((source) => PACKAGE.exec(source)?.[0] ?? []))
  // Source maps of prebuilt packages name files that are not installed.
  const manifests = Array.from(folders, (folder) => join(ROOT, folder, 'package.json')).filter(
    (path) => existsSync(path),
  )
  expect(manifests.length).toBeGreaterThan(100)
  for (const path of manifests) {
    const manifest = JSON.parse(readFileSync(path, 'utf8'))
    expect(notices).toContain(`${manifest.name} ${manifest.version} (${manifest.license})`)
  }
})
