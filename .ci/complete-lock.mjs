/**
 * `npm install` leaves a platform's binary out of the lock file when the registry at hand does not carry
 * it, and `npm ci` then refuses the lock file. This writes the missing entries back, from what the
 * packages themselves declare. Run it after every `npm install`: `node .ci/complete-lock.mjs`.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const PATH = new URL('../package-lock.json', import.meta.url)
const cpus = { arm64: 'arm64', x64: 'x64', amd64: 'x64', arm: 'arm', ia32: 'ia32', ppc64: 'ppc64', riscv64: 'riscv64', s390x: 's390x', wasm32: 'wasm32' }
const systems = { android: 'android', darwin: 'darwin', freebsd: 'freebsd', linux: 'linux', openharmony: 'openharmony', win32: 'win32', win: 'win32' }

const lock = JSON.parse(readFileSync(PATH, 'utf8'))
let added = 0
for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const words = name.split(/[/-]/)
    const system = Object.keys(systems).find((word) => words.includes(word))
    const cpu = Object.keys(cpus).find((word) => words.includes(word))
    const key = `node_modules/${name}`
    if (lock.packages[key] !== undefined || system === undefined || cpu === undefined) continue
    const libc = name.includes('musl') ? 'musl' : system === 'linux' && name.includes('gnu') ? 'glibc' : undefined
    lock.packages[key] = {
      version,
      cpu: [cpus[cpu]],
      ...(parent.dev ? { dev: true } : {}),
      ...(libc === undefined ? {} : { libc: [libc] }),
      optional: true,
      os: [systems[system]],
    }
    added += 1
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(PATH, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
console.log(`${added} entries added`)
