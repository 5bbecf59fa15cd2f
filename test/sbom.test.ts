import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Sbom } from '../sbom.ts'
import { installedWith, sbomOf } from '../sbom.ts'

const ROOT = join(import.meta.dirname, '..')
const json = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
const built: Sbom = json('dist/sbom.cdx.json')
const manifest = json('package.json')
const licences = new Set<string>(json('.ci/licences.json'))
const lock = json('package-lock.json').packages

test('the SBOM of the build has what CycloneDX 1.6 requires', () => {
  expect(built).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
  expect(built.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  )
  expect(built.metadata.component).toMatchObject({ name: 'perpscope', version: manifest.version })
  const references = [built.metadata.component, ...built.components].map((one) => one['bom-ref'])
  expect(new Set(references).size).toBe(references.length)
  for (const { purl, hashes = [], name, version } of built.components) {
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`)
    for (const { content } of hashes) expect(content, name).toMatch(/^[0-9a-f]{128}$/)
  }
  expect(built.dependencies.map(({ ref }) => ref).toSorted()).toEqual(references.toSorted())
  for (const { ref, dependsOn } of built.dependencies)
    expect(references, ref).toEqual(expect.arrayContaining([...dependsOn]))
})

test('it lists every package that is bundled or installed with this one', () => {
  const listed = new Set(built.components.map((component) => component['bom-ref']))
  const notices = readFileSync(join(ROOT, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const bundled = Array.from(
    notices.matchAll(/^(\S+) (\d+\.\d+\.\S+) \(.*\)$/gm),
    ([, name, version]) => `${name}@${version}`,
  )
  const installed = installedWith(Object.keys(manifest.dependencies), lock).map(
    (path) => `${path.replace(/^.*node_modules\//, '')}@${lock[path].version}`,
  )
  expect(bundled.length).toBeGreaterThan(60)
  expect(installed.length).toBeGreaterThan(20)
  expect([...bundled, ...installed].filter((name) => !listed.has(name))).toEqual([])
  expect(new Set([...bundled, ...installed])).toEqual(listed)
})

test('everything that is shipped has a licence of the list, without the exceptions of development', () => {
  const others = built.components.filter(({ licenses: [choice] }) => {
    const licence = 'expression' in choice ? choice.expression : choice.license.id
    return !licences.has(licence)
  })
  expect(others.map(({ name, licenses }) => ({ name, licenses }))).toEqual([])
})

test('a package in two places is listed once, and equal inputs make an equal SBOM', () => {
  const shipped = {
    manifest: { name: 'app', version: '1.0.0', license: 'MIT', dependencies: { a: '1.0.0' } },
    lock: {
      'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { b: '^1.0.0' } },
      'node_modules/a/node_modules/b': { version: '1.0.0', license: 'MIT OR Apache-2.0' },
      'node_modules/b': { version: '2.0.0' },
      'node_modules/c': { version: '1.0.0', license: 'ISC', dependencies: { b: '^2.0.0' } },
      'node_modules/c/node_modules/a': { version: '1.0.0', license: 'MIT' },
    },
    bundled: ['node_modules/b', 'node_modules/c', 'node_modules/c/node_modules/a'],
    licenceOf: () => 'BSD-3-Clause',
  }
  const sbom = sbomOf(shipped)
  expect(sbom.components.map((component) => component['bom-ref'])).toEqual([
    'a@1.0.0',
    'b@1.0.0',
    'b@2.0.0',
    'c@1.0.0',
  ])
  expect(sbom.components.map(({ licenses: [choice] }) => choice)).toEqual([
    { license: { id: 'MIT' } },
    { expression: 'MIT OR Apache-2.0' },
    { license: { id: 'BSD-3-Clause' } },
    { license: { id: 'ISC' } },
  ])
  expect(sbom.dependencies).toEqual([
    { ref: 'app@1.0.0', dependsOn: ['a@1.0.0', 'b@2.0.0', 'c@1.0.0'] },
    { ref: 'a@1.0.0', dependsOn: ['b@1.0.0'] },
    { ref: 'b@1.0.0', dependsOn: [] },
    { ref: 'b@2.0.0', dependsOn: [] },
    { ref: 'c@1.0.0', dependsOn: ['b@2.0.0'] },
  ])
  expect(sbomOf(shipped)).toEqual(sbom)
})
