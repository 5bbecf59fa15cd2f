import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnv } from '../../src/config/environment.ts'
import { end } from '../../src/roles/child-process.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import { until } from './service.ts'

/** Tests skip without them (`test.skipIf(!hasPrometheus)`). */
export const hasPrometheus =
  spawnSync('promtool', ['--version']).status === 0 &&
  spawnSync('prometheus', ['--version']).status === 0

/** One series of a query with its newest value. */
type QueriedSeries = {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [timeSeconds: number, value: string]
}

export type PrometheusServer = {
  /** @throws with the message of Prometheus for a query that it refuses */
  query(expression: string, atSeconds?: number): Promise<readonly QueriedSeries[]>
  /** Names of the alerts that fire now. */
  firing(): Promise<readonly string[]>
  close(): Promise<void>
}

/** A Prometheus of the test's own, on loopback, which scrapes `targets` by their job every second. */
export async function startPrometheus(
  targets: Readonly<Record<string, string>>,
  rulesFile: string,
): Promise<PrometheusServer> {
  const dir = await mkdtemp(join(tmpdir(), 'perpscope-prometheus-'))
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rulesFile],
    scrape_configs: Object.entries(targets).map(([job_name, target]) => ({
      job_name,
      static_configs: [{ targets: [target] }],
    })),
  }
  await writeFile(join(dir, 'prometheus.yml'), JSON.stringify(config))
  const port = await freePort()
  const server = spawn(
    'prometheus',
    [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore', env: inheritedEnv() },
  )
  const url = `http://127.0.0.1:${port}`
  const close = async () => {
    await end(server, 'SIGKILL')
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await until('Prometheus is ready', async () => (await fetch(`${url}/-/ready`)).ok)
  } catch (cause) {
    await close()
    throw cause
  }
  const read = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(url + path)
    const { status, error, data } = (await response.json()) as {
      readonly status: string
      readonly error?: string
      readonly data: Data
    }
    if (status !== 'success') throw new Error(`${path}: ${error}`)
    return data
  }
  return {
    query: async (expression, atSeconds) => {
      const at = atSeconds === undefined ? '' : `&time=${atSeconds}`
      const path = `/api/v1/query?query=${encodeURIComponent(expression)}${at}`
      return (await read<{ readonly result: readonly QueriedSeries[] }>(path)).result
    },
    firing: async () => {
      const { alerts } = await read<{ readonly alerts: readonly Alert[] }>('/api/v1/alerts')
      return alerts.flatMap(({ state, labels }) =>
        state === 'firing' ? (labels['alertname'] ?? []) : [],
      )
    },
    close,
  }
}

type Alert = { readonly state: string; readonly labels: Readonly<Record<string, string>> }
