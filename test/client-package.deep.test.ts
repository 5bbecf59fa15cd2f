import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import type { Installed } from './support/installed.ts'
import { installed, ROOT } from './support/installed.ts'

const BROWSER_BYTES_MAX = 15_000

/** Code of a user without the service's packages. */
const BUYING = `
import type { Answers, Payer, ProblemCode } from 'perpscope/client'
import { PerpscopeClient, RefusedError } from 'perpscope/client'

declare const pay: Payer
const client = new PerpscopeClient({ url: 'https://example.com', pay, budget: { totalUsd: 1 } })
const { answer, receipt } = await client.about('pulse', 'BTC', { timeframes: ['1h'] })
export const price: number = answer.price.current
export const zone: 'overbought' | 'bullish' | 'neutral' | 'bearish' | 'oversold' | undefined =
  answer.timeframes['1h']?.indicators.rsi_zone
export const transaction: string | undefined = receipt?.transaction
export const rate: Answers['funding'] = (await client.about('funding', 'ETH')).answer
export const coins: readonly unknown[] = (await client.market('screener', { top_n: 20 })).answer.coins
export function codeOf(cause: unknown): ProblemCode | null {
  return cause instanceof RefusedError ? cause.problem.code : null
}
// @ts-expect-error: an answer has no such member, so it is not any
export const nothing = answer.not_a_member
// @ts-expect-error: nor is an analysis
client.about('no-analysis', 'BTC')
`

const BUYING_IN_COMMONJS = `
import { PerpscopeClient } from 'perpscope/client'
export const made: PerpscopeClient = new PerpscopeClient({ url: '' })
`

/** The declared types equal those inferred by TypeBox, and the x402 messages those of the public client. */
const SAME = `
import type * as Core from '${ROOT}/node_modules/@x402/core/dist/esm/types/index.mjs'
import type { Answers as Inferred } from 'inferred/answers'
import type { ProblemCode as Code } from 'inferred/problem'
import type { Answers, PaymentPayload, PaymentRequired, ProblemCode, SettleResponse } from 'perpscope/client'

type Id = keyof Answers | keyof Inferred
type Same<One, Other> = [One, Other] extends [Other, One] ? true : false
export const answers: { [Name in Id]: Same<Answers[Name], Inferred[Name]> } = TRUE
export const ids: Same<keyof Answers, keyof Inferred> = true
export const codes: Same<ProblemCode, Code> = true
export const quotes: Same<PaymentRequired, Core.PaymentRequired> = true
export const payments: Same<PaymentPayload, Core.PaymentPayload> = true
export const receipts: Same<SettleResponse, Core.SettleResponse> = true
`

let user: Installed

beforeAll(() => {
  user = installed([])
  writeFileSync(join(user.folder, 'package.json'), '{ "type": "module" }')
})

afterAll(() => user.remove())

test.each([
  ['node16', 'node16', ['buying.ts']],
  // A user of CommonJS gets the types too.
  ['nodenext', 'nodenext', ['buying.ts', 'buying.cts']],
  ['esnext', 'bundler', ['buying.ts']],
])('strict types resolve under module %s and moduleResolution %s', (module, resolution, files) => {
  writeFileSync(join(user.folder, 'buying.ts'), BUYING)
  writeFileSync(join(user.folder, 'buying.cts'), BUYING_IN_COMMONJS)
  expect(compiled([...files, '--module', module, '--moduleResolution', resolution])).toEqual({
    status: 0,
    stdout: '',
  })
})

test('the types of the answers equal those of the schemas', () => {
  const inferred = readFileSync(join(ROOT, 'src/client/answers.ts'), 'utf8')
  const ids = Array.from(inferred.matchAll(/^ {2}'?([\w-]+)'?: Static</gm), ([, id]) => id)
  expect(ids.toSorted(), 'one line each in src/client/answers.ts').toEqual(
    contracts.map(({ id }) => id).toSorted(),
  )
  const all = `{ ${ids.map((id) => `'${id}': true`).join(', ')} }`
  writeFileSync(join(user.folder, 'same.ts'), SAME.replace('TRUE', all))
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      typeRoots: [join(ROOT, 'node_modules/@types')],
      paths: {
        'perpscope/client': ['./node_modules/perpscope/dist/client/client.d.ts'],
        'inferred/answers': [join(ROOT, 'src/client/answers.ts')],
        'inferred/problem': [join(ROOT, 'src/domain/problem.ts')],
      },
    },
    include: ['same.ts'],
  }
  writeFileSync(join(user.folder, 'tsconfig.json'), JSON.stringify(config))
  expect(tsc([])).toEqual({ status: 0, stdout: '' })
})

test('the client is small in a browser, and needs nothing of Node and no package', async () => {
  writeFileSync(join(user.folder, 'browser.js'), `export * from 'perpscope/client'`)
  const { outputFiles, metafile } = await build({
    absWorkingDir: user.folder,
    entryPoints: ['browser.js'],
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    metafile: true,
    write: false,
  })
  expect(outputFiles).toHaveLength(1)
  expect(outputFiles[0]?.contents.length).toBeLessThanOrEqual(BROWSER_BYTES_MAX)
  expect(Object.keys(metafile.inputs).toSorted()).toEqual([
    'browser.js',
    'node_modules/perpscope/dist/client/client.js',
  ])
})

/** Without `skipLibCheck`, which tsc leaves off. */
function compiled(args: readonly string[]) {
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022']
  return tsc(['--ignoreConfig', ...strict, '--lib', 'es2022,dom', ...args])
}

function tsc(args: readonly string[]) {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = { cwd: user.folder, encoding: 'utf8' } as const
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...args], options)
  return { status, stdout }
}
