import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { end, firstLineOf, launch } from '../src/roles/child-process.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import type { PrometheusServer } from './support/prometheus.ts'
import { hasPrometheus, startPrometheus } from './support/prometheus.ts'
import type { Rig } from './support/service.ts'
import { startRig, until, untilSold } from './support/service.ts'

const DEPLOY = join(import.meta.dirname, '../deploy')
const RULES = join(DEPLOY, 'prometheus/alerts.yml')
const DASHBOARDS = join(DEPLOY, 'grafana/dashboards')
const MAIN = join(import.meta.dirname, '../dist/main.js')
const CALM_MS_MAX = 120_000
/** Of missed scrapes and late threads. */
const ofBusyMachine = new Set(['PerpscopeDown', 'PerpscopeProbeDown', 'PerpscopeEventLoopBlocked'])

/**
 * Metrics that this service does not have: it has neither hosted facilitators, channels, a recording, a broker nor TLS.
 * Each is registered by the file that is named.
 */
const absentHere: Readonly<Record<string, string>> = {
  perpscope_facilitator_up: 'src/roles/hosted-facilitators.ts',
  perpscope_channels_unclaimed_usdc: 'src/roles/payment-channels.ts',
  perpscope_channels_unclaimed_age_seconds: 'src/roles/payment-channels.ts',
  perpscope_recording_ok: 'src/api/metrics/engine-metrics.ts',
  perpscope_mirror_ready: 'src/roles/serve/mirroring.ts',
  perpscope_engine_leads: 'src/roles/serve/publishing.ts',
  perpscope_probe_certificate_end_time_seconds: 'src/roles/probe/probe-metrics.ts',
}

/** What Grafana replaces. */
const variables: Readonly<Record<string, string>> = { $instance: '.*', $__rate_interval: '1m' }

type Panel = {
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string }[]
}

const queries = readdirSync(DASHBOARDS).flatMap((file) => {
  const { title, panels } = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as {
    readonly title: string
    readonly panels: readonly Panel[]
  }
  return panels.flatMap((panel) =>
    (panel.targets ?? []).map(({ expr }) => ({ panel: `${title}, ${panel.title}`, expr })),
  )
})

const { groups } = parse(readFileSync(RULES, 'utf8')) as {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[]
  }[]
}
const alerts = groups.flatMap(({ rules }) => rules)

/** Names of metrics in an expression. */
function metricsIn(expr: string): readonly string[] {
  const names = expr.match(/\b(perpscope|http|process|nodejs|up)(_[a-z0-9_]+)?(?=[{[ )]|$)/g) ?? []
  return [...new Set(names)]
}

function readable(expr: string): string {
  return Object.entries(variables).reduce((text, [name, by]) => text.replaceAll(name, by), expr)
}

describe.skipIf(!hasPrometheus)('a service that Prometheus scrapes', () => {
  let rig: Rig
  let probe: ReturnType<typeof launch>
  let prometheus: PrometheusServer
  /** An instant with a complete scrape: a busy machine misses some. */
  let atSeconds: number

  beforeAll(async () => {
    rig = await startRig({ solana: true })
    await untilSold(rig.url, pulse.contract, 'BTC')
    const probePort = await freePort()
    probe = launch(
      MAIN,
      ['probe', rig.url, '--interval', '1', '--metrics-port', String(probePort)],
      'pipe',
    )
    await firstLineOf(probe)
    const targets = {
      perpscope: `127.0.0.1:${rig.adminPort}`,
      'perpscope-probe': `127.0.0.1:${probePort}`,
    }
    prometheus = await startPrometheus(targets, RULES)
    await bought(rig)
    await until('each metric was scraped several times', async () => {
      atSeconds = Date.now() / 1_000
      const numberOf = async (expr: string) =>
        Number((await prometheus.query(expr, atSeconds))[0]?.value[1])
      return (
        (await numberOf('sum(perpscope_sales_funnel_total{step="paid"})')) > 0 &&
        (await numberOf('min(up)')) === 1 &&
        (await numberOf('min(sum_over_time(up[1m]))')) > 2
      )
    })
  })

  afterAll(async () => {
    if (probe !== undefined) await end(probe, 'SIGKILL')
    await prometheus?.close()
    await rig?.close()
  })

  test.each(queries)('$panel: $expr', async ({ expr }) => {
    const series = await prometheus.query(readable(expr), atSeconds)
    if (series.length > 0) return
    const missing = metricsIn(expr).filter((name) => name in absentHere)
    expect(missing, 'the panel is empty').not.toEqual([])
    for (const name of missing) expectRegistered(name)
  })

  test.each(alerts)('$alert reads metrics that exist', async ({ expr }) => {
    await prometheus.query(expr, atSeconds)
    const names = metricsIn(expr)
    expect(names).not.toEqual([])
    for (const name of names) {
      const series = await prometheus.query(name, atSeconds)
      if (series.length === 0) expectRegistered(name)
    }
  })

  test('no alert fires at a healthy service', async () => {
    const fired = await prometheus.firing()
    expect(fired.filter((name) => !ofBusyMachine.has(name))).toEqual([])
    // They end with their cause.
    await expect.poll(() => prometheus.firing(), { timeout: CALM_MS_MAX }).toEqual([])
  })

  test.each(['prometheus.yml', 'one-machine.yml'])('Prometheus accepts %s', (file) => {
    const config = join(DEPLOY, 'prometheus', file)
    execFileSync('promtool', ['check', 'config', '--syntax-only', config], { stdio: 'pipe' })
  })

  test('unknown paths and methods are one route and one method', async () => {
    for (const path of ['/a', '/b/c', '/d?e=f']) await fetch(rig.url + path)
    const metrics = await (await fetch(`${rig.adminUrl}/metrics`)).text()
    const routes = new Set([...metrics.matchAll(/http_route="([^"]*)"/g)].map(([, route]) => route))
    expect(routes).toContain('unmatched')
    expect([...routes].filter((route) => route === '/a' || route === '/b/c')).toEqual([])
  })

  test('no metric names a wallet', async () => {
    const metrics = await (await fetch(`${rig.adminUrl}/metrics`)).text()
    expect(metrics).not.toMatch(/0x[0-9a-fA-F]{40}/)
  })
})

function expectRegistered(name: string): void {
  const file = absentHere[name]
  expect(file, `${name} is not a metric of this service`).toBeDefined()
  expect(readFileSync(join(import.meta.dirname, '..', file ?? ''), 'utf8')).toContain(`'${name}'`)
}

/** Buys one answer on Base. */
async function bought(rig: Rig): Promise<void> {
  const wallet = newBuyer()
  await rig.chain.fundUsdc(wallet.address, 1_000_000n)
  const choices = {
    ...{ amount: pulse.contract.priceUsdcAtomic, nowMs: Date.now() },
    payTo: rig.chain.accounts.merchant.address,
  }
  const payment = encodedPayment(await signedPayload(wallet, choices))
  await until('the answer is sold', async () => {
    const response = await fetch(`${rig.url}/pulse/BTC`, { headers: { 'x-payment': payment } })
    return response.status === 200
  })
}
