/**
 * Enforces "Dependencies" of CONTRIBUTING.md: exact versions, a complete lock without host names, no install script that
 * nobody has decided on, known licences, and no version younger than 14 days among those that changed. The age needs a
 * registry and a commit to compare with: `node .ci/check-dependencies.mjs [commit]`, HEAD~1 where none is given.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const MIN_AGE_DAYS = 14
const DAY_MS = 86_400_000

/** Used while developing and never shipped, each with its reason: `test/sbom.test.ts` checks what is shipped. */
const licenceExceptions = {
  // Part of vite, and what examines the console's pages; neither is changed.
  'MPL-2.0': /(^|\/)(lightningcss|axe-core$|@axe-core\/)/,
  'LGPL-3.0-only': /(^|\/)rpc-websockets$/, // Part of @solana/web3.js, a test's independent client.
}

/** Packages that state their licence only in a file, which was read. */
const licencesInFiles = { eyes: 'MIT', memorystream: 'MIT', 'text-encoding-utf-8': 'Unlicense' }

/** Development packages with an install script. `.npmrc` lets none run, and everything was seen to work without. */
const unusedScripts = new Set([
  ...['@foundry-rs/anvil', 'bigint-buffer', 'bufferutil', 'ccxt', 'core-js-pure', 'esbuild', 'secp256k1'],
  'utf-8-validate',
])

/** Younger than 14 days when they were taken, each with its reason. */
const ageExceptions = {
  'better-sqlite3@13.2.0': 'issue 36 names it: 12.x needs a compiler and aborts on Node 24.19 and later',
}

const json = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const licences = new Set(json('licences.json'))
const manifest = json('../package.json')
const lock = json('../package-lock.json').packages
const problems = []

const manifests = [manifest, ...manifest.workspaces.map((folder) => json(`../${folder}/package.json`))]
for (const { name, ...lists } of manifests)
  for (const list of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'])
    for (const [dependency, version] of Object.entries(lists[list] ?? {}))
      if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        problems.push(`${name}: ${list}.${dependency} is ${version}, which is not an exact version`)

const scripts = new Set()
for (const [path, entry] of Object.entries(lock)) {
  const name = nameOf(path)
  if (path === '' || entry.link || !path.includes('node_modules/')) continue
  if (/^[a-z+]+:\/\//.test(entry.resolved ?? '')) problems.push(`${path}: the lock names a host`)
  if (entry.hasInstallScript) {
    scripts.add(name)
    if (!entry.dev && !entry.devOptional) problems.push(`${path}: an install script reaches users`)
    if (!unusedScripts.has(name)) problems.push(`${path}: a new install script, which .npmrc does not let run`)
  }
  for (const optional of Object.keys(entry.optionalDependencies ?? {}))
    if (!isLocked(path, optional))
      problems.push(`${path}: ${optional} is not in the lock; run node .ci/complete-lock.mjs`)
  const licence = licenceOf(path, entry)
  if (licence !== null && !licences.has(licence) && !licenceExceptions[licence]?.test(path))
    problems.push(`${path}: the licence ${licence} is not in the list`)
}
for (const name of unusedScripts)
  if (!scripts.has(name)) problems.push(`${name} has no install script any more: take it off the list`)
if (!/^ignore-scripts=true$/m.test(readFileSync(new URL('../.npmrc', import.meta.url), 'utf8')))
  problems.push('.npmrc has to hold ignore-scripts=true')

checkAges(process.argv[2] ?? 'HEAD~1')

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else console.log(`${Object.keys(lock).length} packages in the lock are as CONTRIBUTING.md asks`)

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** As Node finds it: the nearest folder of packages above. */
function isLocked(path, name) {
  for (let base = path; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    if (`${base === '' ? '' : `${base}/`}node_modules/${name}` in lock) return true
    if (base === '') return false
  }
}

/** null for a platform's package that is not installed here: it has the licence of the package that wants it. */
function licenceOf(path, entry) {
  const stated = entry.license ?? licencesInFiles[nameOf(path)]
  if (stated !== undefined) return stated
  const installed = new URL(`../${path}/package.json`, import.meta.url)
  if (!existsSync(installed)) return entry.optional ? null : 'unknown'
  return JSON.parse(readFileSync(installed, 'utf8')).license ?? 'unknown'
}

function checkAges(base) {
  let before
  try {
    const options = { encoding: 'utf8', maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'ignore'] }
    before = JSON.parse(execFileSync('git', ['show', `${base}:package-lock.json`], options)).packages
  } catch {
    console.warn(`SKIPPED: the age of changed versions, because there is no lock at ${base}`)
    return
  }
  const known = new Set(Object.entries(before).map(([path, { version }]) => `${nameOf(path)}@${version}`))
  const changed = new Set(
    Object.entries(lock)
      .filter(([path, { link }]) => path.includes('node_modules/') && !link)
      .map(([path, { version }]) => `${nameOf(path)}@${version}`)
      .filter((id) => !known.has(id) && !(id in ageExceptions)),
  )
  for (const id of changed) {
    const published = publishedAt(id)
    if (published === null) {
      console.warn(`SKIPPED: the age of ${changed.size} changed versions, because no registry answers`)
      return
    }
    const days = (Date.now() - published) / DAY_MS
    if (!(days >= MIN_AGE_DAYS)) problems.push(`${id} is ${days.toFixed(1)} days old`)
  }
  console.log(`${changed.size} versions changed since ${base}, none younger than ${MIN_AGE_DAYS} days unless named below`)
}

function publishedAt(id) {
  const at = id.lastIndexOf('@')
  const args = ['view', id.slice(0, at), 'time', '--json', '--fetch-retries=0']
  try {
    const options = { encoding: 'utf8', maxBuffer: 1e9, stdio: ['ignore', 'pipe', 'ignore'], timeout: 20_000 }
    return Date.parse(JSON.parse(execFileSync('npm', args, options))[id.slice(at + 1)])
  } catch {
    return null
  }
}
