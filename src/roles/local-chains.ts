import { ConfigError } from '../config/config-error.ts'
import { demoPackages, version } from '../config/environment.ts'
import { anvilBinary } from '../simulator/evm/anvil-process.ts'

/** The two local chains are optional packages: a service does without them. @throws ConfigError with the remedy */
export async function requireLocalChains(): Promise<void> {
  try {
    anvilBinary()
    await import('litesvm')
  } catch (cause) {
    throw new ConfigError(
      'The demo needs two local chains, which are not installed. Nothing was started. ' +
        `Install them with \`${installCommand()}\``,
      { cause },
    )
  }
}

/** What npx has fetched is in a folder of its own, where `npm install` does not reach it. */
function installCommand(): string {
  return /[\\/]_npx[\\/]/.test(process.argv[1] ?? '')
    ? `npx ${[`perpscope@${version}`, ...demoPackages].map((name) => `-p ${name}`).join(' ')} perpscope demo`
    : `npm install ${demoPackages.join(' ')}`
}
