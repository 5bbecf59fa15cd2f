import { ConfigError } from '../config/config-error.ts'
import { demoPackages } from '../config/environment.ts'
import { anvilBinary } from '../simulator/evm/anvil-process.ts'
import { optionalPackagesCommand } from './optional-packages.ts'

/** The local chains are optional packages, which only the demo needs. @throws ConfigError with the remedy */
export async function requireLocalChains(): Promise<void> {
  try {
    anvilBinary()
    await import('litesvm')
  } catch (cause) {
    throw new ConfigError(
      'The demo needs two local chains, which are not installed. Nothing was started. ' +
        `Install them with \`${optionalPackagesCommand(demoPackages, 'demo')}\``,
      { cause },
    )
  }
}
