import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { ConfigError } from '../config/config-error.ts'
import type { SettingTexts } from '../config/first-configuration.ts'
import { firstConfiguration } from '../config/first-configuration.ts'
import type { InitOptions } from '../config/init.ts'
import { answered } from '../config/init-questions.ts'
import { UsageError } from '../config/usage.ts'
import { reasonOf } from '../domain/errors.ts'
import { shellWord } from '../domain/shell-word.ts'
import { MAIN } from './child-process.ts'

type InitContext = {
  readonly write: (text: string) => void
  /** Whether a person can be asked. */
  readonly canAsk: boolean
}

/**
 * `perpscope init`: writes a first configuration file, after asking on a terminal for what no flag states, and runs the
 * doctor with it. @returns the exit code of the doctor
 */
export async function init(
  path: string,
  { force }: Pick<InitOptions, 'force'>,
  given: SettingTexts,
  { write, canAsk }: InitContext,
): Promise<number> {
  // Before any question, whose answers would be lost.
  requireWritable(dirname(resolve(path)))
  if (force !== true && existsSync(path))
    throw new ConfigError(`${path} exists: give another name, or --force to replace it`)
  const answers = canAsk ? await asked(given, write) : given
  writeNew(path, firstConfiguration(answers), force === true)
  const word = shellWord(path)
  write(`${path} is written. perpscope doctor --config ${word}:\n`)
  const code = await runDoctor(path)
  const next = `perpscope serve --config ${word}`
  write(code === 0 ? `Next: ${next}\n` : `Correct what has failed, then: ${next}\n`)
  return code
}

/** @throws ConfigError */
function requireWritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new ConfigError(
      `the folder ${folder} cannot be written (${reasonOf(cause)}): create it, or give another file`,
    )
  }
}

async function asked(given: SettingTexts, write: (text: string) => void): Promise<SettingTexts> {
  const { stdin: input, stdout: output } = process
  const lines = createInterface({ input, output })
  const ended = new AbortController()
  // Ctrl-C, or the end of the input.
  lines.once('close', () => ended.abort())
  try {
    return await answered(given, (text) => lines.question(text, { signal: ended.signal }), write)
  } catch (cause) {
    if (ended.signal.aborted) throw new UsageError('no answer; nothing was written')
    throw cause
  } finally {
    lines.close()
  }
}

/** Complete or not at all; readable by its owner only. */
function writeNew(path: string, text: string, isReplacing: boolean): void {
  const mode = 0o600
  try {
    if (!isReplacing) {
      writeFileSync(path, text, { mode, flag: 'wx' })
      return
    }
    const draft = `${path}.new`
    // Flushed, or a crash could leave an empty file under the final name.
    writeFileSync(draft, text, { mode, flush: true })
    renameSync(draft, path)
  } catch (cause) {
    throw new ConfigError(`${path} cannot be written`, { cause })
  }
}

async function runDoctor(path: string): Promise<number> {
  const doctor = spawn(process.execPath, [MAIN, 'doctor', '--config', path], { stdio: 'inherit' })
  const [code] = (await once(doctor, 'close')) as [number | null]
  return code ?? 1
}
