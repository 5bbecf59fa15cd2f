import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string; readonly peerDependencies: Readonly<Record<string, string>> }

/** Package version, reported by `--version` and `/health`. */
export const version = manifest.version

const TRACING = '@opentelemetry/'

/** The optional packages of `perpscope demo`, as arguments of npm install. */
export const demoPackages = optionalPackages((name) => !name.startsWith(TRACING))

/** The optional packages of `--otlp-endpoint`, as arguments of npm install. */
export const tracingPackages = optionalPackages((name) => name.startsWith(TRACING))

function optionalPackages(isWanted: (name: string) => boolean): readonly string[] {
  return Object.entries(manifest.peerDependencies).flatMap(([name, version]) =>
    isWanted(name) ? [`${name}@${version}`] : [],
  )
}

/** All variables with our prefix, known or not. */
export function givenVariables(): Readonly<Record<string, string>> {
  const entries = Object.entries(process.env).filter(([name]) => name.startsWith('PERPSCOPE_'))
  return Object.fromEntries(entries) as Record<string, string>
}

/** The environment for child processes, without our settings, which they receive as flags. */
export function inheritedEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PERPSCOPE_'))
  return Object.fromEntries(entries) as Record<string, string>
}

/** The environment for the process that replaces this one. */
export function fullEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}

/** Whether colours may be used: https://no-color.org. */
export function mayColor(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
}

/** Folders in which the system looks for programs, in its order. */
export function programFolders(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}
