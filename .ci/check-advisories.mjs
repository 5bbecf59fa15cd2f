/**
 * Fails on a known vulnerability in a package that users receive, bundled or installed, as the SBOM of the build lists
 * them. Needs a registry that answers audits, and says so where none does.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const sbom = JSON.parse(readFileSync(new URL('../dist/sbom.cdx.json', import.meta.url), 'utf8'))
const shipped = new Set(sbom.components.map(({ name }) => name))
const options = { encoding: 'utf8', maxBuffer: 1e9, timeout: 60_000 }
const { stdout } = spawnSync('npm', ['audit', '--json', '--fetch-retries=0'], options)
const report = parsed(stdout)

if (report?.vulnerabilities === undefined)
  console.warn(`SKIPPED: known vulnerabilities, because the registry answers ${report?.statusCode ?? 'nothing'}`)
else {
  const found = Object.entries(report.vulnerabilities).filter(([name]) => shipped.has(name))
  for (const [name, { severity }] of found) console.error(`${name} has a known vulnerability (${severity})`)
  if (found.length > 0) process.exitCode = 1
  else console.log(`${shipped.size} shipped packages have no known vulnerability`)
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
