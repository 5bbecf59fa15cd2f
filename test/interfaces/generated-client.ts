import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../../src/config/environment.ts'
import { pathTemplateOf } from '../../src/domain/contract.ts'
import type { Rig } from '../support/service.ts'

/**
 * A buyer who generates a client from the served `/openapi.json` alone; the compiler knows every member of every
 * answer.
 */
const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const GENERATOR = join(ROOT, 'tools/openapi-client/node_modules/openapi-typescript/bin/cli.js')
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')
const FUNDS = 1_000_000n

/** `Untyped` is every member at every depth; `true` for one without a type. */
const WALK = `import type { paths } from './service.d.ts'
type Untyped<T, Depth extends 0[] = []> =
  Depth['length'] extends 12 ? true :
  unknown extends T ? true :
  T extends readonly (infer Item)[] ? Untyped<Item, [...Depth, 0]> :
  T extends object ? { [Key in keyof T]-?: Untyped<T[Key], [...Depth, 0]> }[keyof T] :
  never
type Typed<T extends never> = T
type Read<Path extends keyof paths> =
  paths[Path] extends { get: { responses: { 200: { content: { 'application/json': infer Answer } } } } }
    ? Answer : unknown
${contracts
  .map(
    (contract) => `{
  type Answer = Read<'${pathTemplateOf(contract)}'>
  const proof: Typed<Untyped<Answer>>[] = []
  // @ts-expect-error: the walk finds what has no type, however deep it is.
  const control: Typed<Untyped<{ answer: Answer, rows: { value: unknown }[] }>>[] = []
  // @ts-expect-error: no member is made up.
  type None = Answer['no_such_member']
}`,
  )
  .join('\n')}
`

const BUY = `import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import createClient from 'openapi-fetch'
import { privateKeyToAccount } from 'viem/accounts'
import type { paths } from './service.d.ts'

const account = privateKeyToAccount(process.env['WALLET_KEY'] as \`0x\${string}\`)
const wallet = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
const client = createClient<paths>({
  baseUrl: process.env['PERPSCOPE_URL'] ?? '',
  fetch: wrapFetchWithPayment(fetch, wallet),
})
const ask = () =>
  client.GET('/pulse/{coin}', { params: { path: { coin: 'BTC' }, query: { timeframes: '1h' } } })
let bought = await ask()
// Refused without a charge where a busy machine has older data than it quoted.
for (let tries = 1; tries < 300 && JSON.stringify(bought.error ?? '').includes('"data_stale"'); tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 200))
  bought = await ask()
}
const { data, error, response } = bought
if (data === undefined) throw new Error(JSON.stringify(error))
const rsi: number | undefined = data.timeframes['1h']?.indicators.rsi_14
const bias: 'bullish' | 'bearish' | 'neutral' = data.confluence.bias
const grade: 'A' | 'B' | 'C' | 'D' = data.meta.quality.grade
const ema: number | null | undefined = data.timeframes['1h']?.indicators.ema_200
const coding = response.headers.get('content-encoding')
console.log(JSON.stringify({ coin: data.coin, rsi, bias, grade, ema, coding }))
const refused = await client.GET('/pulse/{coin}', { params: { path: { coin: 'BTCC' } } })
const problem = refused.error
if (problem === undefined || !('code' in problem)) throw new Error('it was sold')
console.log(JSON.stringify({ code: problem.code, allowed: problem.did_you_mean }))
`

export function generatedClientTests(service: () => Rig): void {
  describe('a client that openapi-typescript generates', () => {
    /** Within the repository, so that what is written there finds its packages. */
    let folder: string
    /** What the compiler says against both programs, which it reads at once: most of its work is the packages. */
    let complaints: string

    const generated = () => join(folder, 'service.d.ts')

    beforeAll(async () => {
      await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true })
      folder = await mkdtemp(join(ROOT, 'node_modules/.cache/client-'))
      await run(process.execPath, [
        GENERATOR,
        `${service().url}/openapi.json`,
        '--output',
        generated(),
      ])
      complaints = await compiled(folder, { 'walk.mts': WALK, 'buy.mts': BUY })
    })

    afterAll(async () => {
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    })

    test('has a type for every member of every answer', () => {
      expect(complaints).toBe('')
    })

    test('buys a pulse, whose members the compiler knows', async () => {
      const pulse = contracts.find(({ id }) => id === 'pulse')
      if (pulse === undefined) throw new Error('there is a pulse')
      const key = generatePrivateKey()
      const { address } = privateKeyToAccount(key)
      await service().chain.fundUsdc(address, FUNDS)
      expect(complaints).toBe('')
      const { stdout } = await run(process.execPath, ['--import', 'tsx', join(folder, 'buy.mts')], {
        cwd: ROOT,
        env: { ...inheritedEnv(), PERPSCOPE_URL: service().url, WALLET_KEY: key },
      })
      const [bought, refused] = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(bought).toEqual({
        coin: 'BTC',
        rsi: expect.any(Number),
        bias: expect.stringMatching(/^(bullish|bearish|neutral)$/),
        grade: expect.stringMatching(/^[ABCD]$/),
        ema: bought.ema,
        // As every fetch asks for.
        coding: expect.stringMatching(/^(br|gzip)$/),
      })
      expect(refused).toMatchObject({ code: 'invalid_coin' })
      expect(await service().chain.balanceOf(address)).toBe(FUNDS - pulse.priceUsdcAtomic)
    })

    test('has no answer that is a union', async () => {
      const text = await readFile(generated(), 'utf8')
      for (const { id } of contracts) {
        const name = `${id.replaceAll(/(^|-)(\w)/g, (_, __, letter) => letter.toUpperCase())}Answer`
        expect(text).toContain(`"application/json": components["schemas"]["${name}"];`)
      }
    })
  })
}

/** @returns what the compiler says against the programs */
async function compiled(
  folder: string,
  programs: Readonly<Record<string, string>>,
): Promise<string> {
  const files = Object.keys(programs).map((name) => join(folder, name))
  for (const [name, program] of Object.entries(programs))
    await writeFile(join(folder, name), program)
  const strict = ['--strict', '--noEmit', '--skipLibCheck', '--exactOptionalPropertyTypes']
  const modules = ['--module', 'nodenext', '--target', 'es2023', '--types', 'node']
  const args = [COMPILER, ...strict, ...modules, '--allowImportingTsExtensions', '--ignoreConfig']
  return run(process.execPath, [...args, ...files], { cwd: ROOT }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}` || 'it failed',
  )
}
