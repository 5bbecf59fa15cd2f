import { ConfigError } from '../config/config-error.ts'
import { demoPackages, version } from '../config/environment.ts'
import { anvilBinary } from '../simulator/evm/anvil-process.ts'

/** The local chains are optional packages, which only the demo needs. @throws ConfigError with the remedy */
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

/** npx uses a folder of its own, to which `npm install` adds nothing. */
function installCommand(): string {
  return /[\\/]_npx[\\/]/.test(process.argv[1] ?? '')
    ? `npx ${[`perpscope@${version}`, ...demoPackages].map((name) => `-p ${name}`).join(' ')} perpscope demo`
    : `npm install ${demoPackages.join(' ')}`
}
