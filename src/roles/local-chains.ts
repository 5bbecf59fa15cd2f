import { ConfigError } from '../config/config-error.ts'
import { demoPackages } from '../config/environment.ts'
import { anvilBinary } from '../simulator/evm/anvil-process.ts'
import { optionalPackagesCommand } from './optional-packages.ts'

/** The local chains are optional packages. @param command what needs them. @throws ConfigError with the remedy */
export async function requireLocalChains(command: 'demo' | 'simulate'): Promise<void> {
  try {
    anvilBinary()
    await import('litesvm')
  } catch (cause) {
    throw new ConfigError(
      `perpscope ${command} needs local chains, which are not installed. Nothing was started. ` +
        `Install them with \`${optionalPackagesCommand(demoPackages, command)}\``,
      { cause },
    )
  }
}
