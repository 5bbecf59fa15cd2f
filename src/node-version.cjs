// In the syntax of Node 12: this file has to run on every Node that it refuses. `engines` says the same.
const MAJOR_MIN = 22
const MINOR_MIN = 13
/** sysexits(3): what is wrong is the configuration, and a restart will not help. */
const EXIT_CONFIG = 78

function refusalOf(version) {
  const [major, minor] = version.split('.').map(Number)
  if (major > MAJOR_MIN || (major === MAJOR_MIN && minor >= MINOR_MIN)) return null
  return `perpscope needs Node ${MAJOR_MIN}.${MINOR_MIN} or later, and ${process.execPath} is Node ${version}.`
}

const refusal = refusalOf(process.versions.node)
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`)
  process.exitCode = EXIT_CONFIG
}

module.exports = { refusal, refusalOf }
