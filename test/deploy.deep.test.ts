import { execFile, spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { copyFile, cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { adminSettings, optionsOf } from '../src/config/option.ts'
import { serveOptions } from '../src/config/serve.ts'
import { redisBinary, startRedis } from './support/redis.ts'

const ROOT = join(import.meta.dirname, '..')
const DEPLOY = join(ROOT, 'deploy')
const run = promisify(execFile)

const variables = new Set(
  [...serveOptions, ...optionsOf(adminSettings)].map(({ envVar }) => envVar),
)
const hasCommand = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** Every file of the folder that sets variables of the service. */
const settingFiles = globSync('**/*.{yaml,example}', { cwd: DEPLOY })

describe('deployment files', () => {
  test.each(settingFiles)('%s sets only variables of serve', async (file) => {
    const text = await readFile(join(DEPLOY, file), 'utf8')
    const names = text.match(/PERPSCOPE_[A-Z_]+(?==|:)/g) ?? []
    // The domain is a variable of the proxy.
    const unknown = names.filter((name) => name !== 'PERPSCOPE_DOMAIN' && !variables.has(name))
    expect(unknown).toEqual([])
  })

  test('the compose file mounts files that exist, and declares what it uses', async () => {
    const compose = parse(await readFile(join(DEPLOY, 'compose.cluster.yaml'), 'utf8'), {
      merge: true,
    }) as Compose
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(['proxy', 'gateway-a', 'gateway-b', 'engine-a', 'engine-b']),
    )
    for (const [name, service] of Object.entries(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':')
        const isKnown = source.startsWith('.')
          ? existsSync(join(DEPLOY, source))
          : source in compose.volumes
        expect(isKnown, `${name}: ${volume}`).toBe(true)
      }
      for (const secret of service.secrets ?? [])
        expect(compose.secrets, name).toHaveProperty(secret)
      const dependencies = service.depends_on ?? []
      for (const other of Array.isArray(dependencies) ? dependencies : Object.keys(dependencies))
        expect(compose.services, name).toHaveProperty(other)
    }
  })

  test.skipIf(!hasCommand('kubectl', 'version', '--client'))(
    'the manifests build, and every pod gets probes, limits and a disruption budget',
    async () => {
      const { stdout } = await run('kubectl', ['kustomize', join(DEPLOY, 'kubernetes')])
      const manifests = parseAllDocuments(stdout).map((one) => one.toJS() as Manifest)
      const workloads = manifests.filter(({ spec }) => spec?.template !== undefined)
      expect(workloads.map(({ metadata }) => metadata.name).toSorted()).toEqual([
        'engine',
        'gateway',
        'valkey',
      ])
      for (const { metadata, spec } of workloads) {
        for (const container of spec?.template?.spec.containers ?? []) {
          expect(container, metadata.name).toMatchObject({
            readinessProbe: expect.anything(),
            livenessProbe: expect.anything(),
            resources: { requests: expect.anything(), limits: { memory: expect.anything() } },
            securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
          })
        }
      }
      const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget')
      expect(budgets.map(({ metadata }) => metadata.name)).toEqual(['engine', 'gateway'])
      expect(manifests.some(({ kind }) => kind === 'Secret')).toBe(false)
    },
  )

  test.skipIf(!hasCommand('caddy', 'version'))('the proxy accepts its file', async () => {
    const config = join(DEPLOY, 'caddy/cluster.Caddyfile')
    const { stdout } = await run('caddy', [
      'validate',
      '--adapter',
      'caddyfile',
      '--config',
      config,
    ])
    expect(stdout).toContain('Valid configuration')
  })

  test.skipIf(redisBinary === null)('a broker accepts its file', async () => {
    const text = await readFile(join(DEPLOY, 'kubernetes/valkey.conf'), 'utf8')
    const broker = await startRedis(text.split('\n'))
    await broker.close()
  })
})

describe('the image', () => {
  let folder: string
  let dockerfile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-image-'))
    dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8')
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('copies only what its context has', async () => {
    const context = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    for (const path of context) expect(existsSync(join(ROOT, path)), path).toBe(true)
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
      .flatMap(([, paths = '']) => paths.split(' '))
      .filter((path) => path !== '.')
    for (const path of copied) expect(context).toContain(path)
  })

  /** The build stage is what `npm ci` and `npm run build` of this repository do, so its result is taken from dist. */
  test('starts with the packages that its commands install', async () => {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      await copyFile(join(ROOT, file), join(folder, file))
    const install = /^RUN (npm ci --omit=dev.*)$/m.exec(dockerfile)?.[1]
    const [command = '', ...flags] = install?.split(' ') ?? []
    await run(command, flags, { cwd: folder })
    await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
    const [, entry] = JSON.parse(
      /^ENTRYPOINT (.+)$/m.exec(dockerfile)?.[1] ?? '[]',
    ) as readonly string[]
    const { stdout } = await run(process.execPath, [entry ?? '', 'serve', '--help'], {
      cwd: folder,
    })
    expect(stdout).toContain('--admin-token-file')
    const args = [
      'doctor',
      '--payment',
      'open',
      '--source',
      'http://127.0.0.1:9',
      '--outside',
      'off',
    ]
    const doctor = await run(process.execPath, [entry ?? '', ...args, '--json'], {
      cwd: folder,
    }).catch((failed: { stdout: string }) => failed)
    const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; status: string }[] }
    const statusOf = (name: string) => checks.find(({ check }) => check === name)?.status
    expect(statusOf('venue, requests'), 'there is none').toBe('fail')
    expect(statusOf('checkpoint'), 'it is read with the binding of SQLite').toBe('ok')
  }, 60_000)
})

type Compose = {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly volumes?: readonly string[]
        readonly secrets?: readonly string[]
        readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
      }
    >
  >
  readonly volumes: object
  readonly secrets: object
}

type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly object[] } }
  }
}
