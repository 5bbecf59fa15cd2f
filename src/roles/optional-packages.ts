import { version } from '../config/environment.ts'

/** The command that installs optional packages. npx uses a folder of its own, to which `npm install` adds nothing. */
export function optionalPackagesCommand(packages: readonly string[], command: string): string {
  return /[\\/]_npx[\\/]/.test(process.argv[1] ?? '')
    ? `npx ${[`perpscope@${version}`, ...packages].map((name) => `-p ${name}`).join(' ')} perpscope ${command}`
    : `npm install ${packages.join(' ')}`
}
