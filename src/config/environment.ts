import { readFileSync } from 'node:fs'

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly peerDependencies: Readonly<Record<string, string>> }

/** Package version, reported by `--version` and `/health`. */
export const version = manifest.version

/** The optional packages of `perpscope demo`, as npm takes them. */
export const demoPackages: readonly string[] = Object.entries(manifest.peerDependencies).map(
  ([name, wanted]) => `${name}@${wanted}`,
)

/** Names of variables that are meant for us, whether or not we know them. */
export function givenVariables(): readonly string[] {
  return Object.keys(process.env).filter((name) => name.startsWith('PERPSCOPE_'))
}

/** For children: what this process inherited, without our own settings, which they are given as flags. */
export function inheritedEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PERPSCOPE_'))
  return Object.fromEntries(entries) as Record<string, string>
}

/** For the process that takes the place of this one. */
export function fullEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}

/** Whether the operator wants colours there: https://no-color.org. */
export function mayColor(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
}
