import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { hasPrometheus } from './support/prometheus.ts'

const ROOT = join(import.meta.dirname, '..')
const RULES = join(ROOT, 'deploy/prometheus/alerts.yml')

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: {
    readonly summary: string
    readonly description: string
    readonly runbook: string
  }
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

/** Series of a healthy service, in the notation of promtool: one value a minute. */
const healthy: Readonly<Record<string, string>> = {
  'up{job="perpscope",instance="a"}': '1x200',
  'up{job="perpscope-probe",instance="p"}': '1x200',
  'perpscope_engine_up{instance="a"}': '1x200',
  'perpscope_engine_restarts_total{instance="a"}': '0x200',
  'perpscope_ready{instance="a",check="can_settle"}': '1x200',
  'perpscope_coins_ready{instance="a"}': '190x200',
  'perpscope_can_settle{instance="a",scheme="exact",network="eip155:8453"}': '1x200',
  'perpscope_facilitator_up{instance="a",facilitator="f"}': '1x200',
  'perpscope_maintenance{instance="a"}': '0x200',
  'http_server_request_duration_seconds_count{instance="a",http_response_status_code="200"}':
    '0+600x200',
  'http_server_request_duration_seconds_count{instance="a",http_response_status_code="503"}':
    '0+1x200',
  'perpscope_event_loop_delay_p99_seconds{instance="a",thread="engine"}': '0.02x200',
  'process_resident_memory_bytes{job="perpscope",instance="a"}': '400e6x200',
  'perpscope_memory_limit_bytes{job="perpscope",instance="a"}': '2e9x200',
  'perpscope_heap_used_bytes{instance="a",thread="engine"}': '100e6x200',
  'perpscope_heap_limit_bytes{instance="a",thread="engine"}': '1e9x200',
  'process_open_fds{job="perpscope",instance="a"}': '60x200',
  'process_max_fds{job="perpscope",instance="a"}': '1024x200',
  'perpscope_disk_free_bytes{instance="a"}': '50e9x200',
  'perpscope_clock_behind_seconds{instance="a",reference="venue"}': '-0.02x200',
  'perpscope_feed_up{instance="a",feed="venue"}': '1x200',
  'perpscope_source_up{instance="a",source="okx"}': '1x200',
  'perpscope_source_in_use{instance="a",source="okx"}': '1x200',
  'perpscope_source_up{instance="a",source="solana"}': '0x200',
  'perpscope_source_in_use{instance="a",source="solana"}': '0x200',
  'perpscope_source_lag_seconds{instance="a",source="venue"}': '0.1x200',
  'perpscope_source_lag_seconds{instance="a",source="okx"}': '0.5x200',
  'perpscope_source_lag_seconds{instance="a",source="fear-greed"}': '1700x200',
  'perpscope_document_age_median_seconds{instance="a",analysis="pulse"}': '3x200',
  'perpscope_document_age_median_seconds{instance="a",analysis="depeg"}': '3000x200',
  // Prices that did not move since their oracle networks published them.
  'perpscope_document_age_median_seconds{instance="a",analysis="basis"}': '3000x200',
  'perpscope_document_age_limit_seconds{instance="a",analysis="depeg"}': '93600x200',
  'perpscope_documents{instance="a",analysis="pulse"}': '190x200',
  'perpscope_documents_answerable{instance="a",analysis="pulse"}': '190x200',
  'perpscope_documents{instance="a",analysis="basis"}': '90x200',
  'perpscope_documents_answerable{instance="a",analysis="basis"}': '90x200',
  // A service with `--outside off`.
  'perpscope_documents{instance="off",analysis="basis"}': '190x200',
  'perpscope_documents_answerable{instance="off",analysis="basis"}': '0x200',
  'perpscope_warm_up_ratio{instance="a",timeframe="1h"}': '1x200',
  'process_start_time_seconds{job="perpscope",instance="a"}': '-7200x200',
  'process_start_time_seconds{job="perpscope",instance="off"}': '-7200x200',
  'perpscope_store_ok{instance="a"}': '1x200',
  'perpscope_store_dropped_rows{instance="a"}': '0x200',
  'perpscope_store_damaged_blocks{instance="a"}': '0x200',
  'perpscope_store_set_aside_files{instance="a"}': '0x200',
  'perpscope_recording_ok{instance="a"}': '1x200',
  'perpscope_mirror_ready{instance="a"}': '1x200',
  'perpscope_engine_leads{instance="a"}': '1x200',
  'perpscope_engine_leads{instance="b"}': '0x200',
  'perpscope_settlements_total{instance="a",network="eip155:8453",outcome="paid"}': '0+30x200',
  'perpscope_settlements_total{instance="a",network="eip155:8453",outcome="refused"}': '0+1x200',
  // Two of three take 6 s.
  'perpscope_settlement_duration_seconds_bucket{instance="a",network="eip155:8453",le="5"}':
    '0+10x200',
  'perpscope_settlement_duration_seconds_bucket{instance="a",network="eip155:8453",le="8"}':
    '0+30x200',
  'perpscope_settlement_duration_seconds_bucket{instance="a",network="eip155:8453",le="10"}':
    '0+30x200',
  'perpscope_settlement_duration_seconds_bucket{instance="a",network="eip155:8453",le="+Inf"}':
    '0+30x200',
  'perpscope_unsettled_usdc{instance="a",state="unknown",age="day"}': '0x200',
  'perpscope_unsettled_usdc{instance="a",state="unconfirmed",age="minute"}': '0.4x200',
  'perpscope_payment_exposure_usdc{instance="a"}': '0.4x200',
  'perpscope_payment_exposure_limit_usdc{instance="a"}': '1x200',
  'perpscope_lost_usdc_total{instance="a",analysis="pulse",network="eip155:8453"}': '0x200',
  'perpscope_late_settlement_usdc_total{instance="a",analysis="pulse",network="eip155:8453"}':
    '0x200',
  'perpscope_gas_balance_ether{instance="a"}': '0.01x200',
  'perpscope_fee_balance_sol{instance="a"}': '0.5x200',
  'perpscope_channels_unclaimed_age_seconds{instance="a"}': '21600x200',
  'perpscope_probe_success{instance="p",check="quote"}': '1x200',
  'perpscope_probe_certificate_end_time_seconds{instance="p"}': '7776000x200',
}

/** A healthy time, the fault until it must have been seen, and the time until it must be gone. */
const BEFORE_MINUTES = 20

type Fault = {
  readonly alert: string
  /** Values of one series during the fault, and after it; the part after it repeats the healthy value by default. */
  readonly series: string
  readonly during: string
  readonly after?: string
  readonly minutes?: number
  readonly goneAfterMinutes?: number
  /** Alerts that the fault means as well. */
  readonly also?: readonly string[]
}

const lag = 'perpscope_source_lag_seconds'
const pulseOf = 'instance="a",analysis="pulse"'
const settlement = 'instance="a",network="eip155:8453"'

const faults: readonly Fault[] = [
  { alert: 'PerpscopeDown', series: 'up{job="perpscope",instance="a"}', during: '0' },
  { alert: 'PerpscopeEngineUnavailable', series: 'perpscope_engine_up{instance="a"}', during: '0' },
  {
    alert: 'PerpscopeEngineRestarting',
    series: 'perpscope_engine_restarts_total{instance="a"}',
    during: '0+1',
    after: '20',
    minutes: 20,
  },
  {
    alert: 'PerpscopeNotReadyToSell',
    series: 'perpscope_ready{instance="a",check="can_settle"}',
    during: '0',
  },
  { alert: 'PerpscopeNoCoinReady', series: 'perpscope_coins_ready{instance="a"}', during: '0' },
  {
    alert: 'PerpscopePaymentMethodDown',
    series: 'perpscope_can_settle{instance="a",scheme="exact",network="eip155:8453"}',
    during: '0',
  },
  {
    alert: 'PerpscopeFacilitatorDown',
    series: 'perpscope_facilitator_up{instance="a",facilitator="f"}',
    during: '0',
  },
  {
    alert: 'PerpscopeMaintenanceForgotten',
    series: 'perpscope_maintenance{instance="a"}',
    during: '1',
    minutes: 125,
  },
  {
    alert: 'PerpscopeServerErrors',
    series:
      'http_server_request_duration_seconds_count{instance="a",http_response_status_code="503"}',
    during: '20+100',
    after: '4020',
    minutes: 40,
  },
  {
    alert: 'PerpscopeEventLoopBlocked',
    series: 'perpscope_event_loop_delay_p99_seconds{instance="a",thread="engine"}',
    during: '0.8',
  },
  {
    alert: 'PerpscopeMemoryNearLimit',
    series: 'process_resident_memory_bytes{job="perpscope",instance="a"}',
    during: '1.95e9',
  },
  {
    alert: 'PerpscopeMemoryNearLimit',
    series: 'perpscope_heap_used_bytes{instance="a",thread="engine"}',
    during: '0.9e9',
  },
  {
    alert: 'PerpscopeFileDescriptorsLow',
    series: 'process_open_fds{job="perpscope",instance="a"}',
    during: '1000',
  },
  { alert: 'PerpscopeDiskLow', series: 'perpscope_disk_free_bytes{instance="a"}', during: '1e9' },
  {
    alert: 'PerpscopeDiskFull',
    series: 'perpscope_disk_free_bytes{instance="a"}',
    during: '1e6',
    also: ['PerpscopeDiskLow'],
  },
  {
    alert: 'PerpscopeClockWrong',
    series: 'perpscope_clock_behind_seconds{instance="a",reference="venue"}',
    during: '-9',
  },
  {
    alert: 'PerpscopeVenueFeedDown',
    series: 'perpscope_feed_up{instance="a",feed="venue"}',
    during: '0',
  },
  {
    alert: 'PerpscopeVenueFeedSilent',
    series: `${lag}{instance="a",source="venue"}`,
    during: '90',
  },
  {
    alert: 'PerpscopeSourceDown',
    series: 'perpscope_source_up{instance="a",source="okx"}',
    during: '0',
  },
  { alert: 'PerpscopeSourceLagging', series: `${lag}{instance="a",source="okx"}`, during: '400' },
  {
    alert: 'PerpscopeSourceLagging',
    series: `${lag}{instance="a",source="fear-greed"}`,
    during: '9000',
  },
  {
    alert: 'PerpscopeDocumentsOld',
    series: `perpscope_document_age_median_seconds{${pulseOf}}`,
    during: '900',
  },
  {
    alert: 'PerpscopeDocumentsOld',
    series: 'perpscope_document_age_median_seconds{instance="a",analysis="depeg"}',
    during: '60000',
  },
  {
    alert: 'PerpscopeDocumentsOld',
    series: 'perpscope_document_age_median_seconds{instance="a",analysis="basis"}',
    during: '7000',
  },
  {
    alert: 'PerpscopeDocumentsRefused',
    series: `perpscope_documents_answerable{${pulseOf}}`,
    during: '20',
  },
  {
    alert: 'PerpscopeDocumentsRefused',
    series: 'perpscope_documents_answerable{instance="a",analysis="basis"}',
    during: '20',
  },
  {
    alert: 'PerpscopeWarmUpSlow',
    series: 'perpscope_warm_up_ratio{instance="a",timeframe="1h"}',
    during: '0.4',
  },
  { alert: 'PerpscopeHistoryNotWritten', series: 'perpscope_store_ok{instance="a"}', during: '0' },
  {
    alert: 'PerpscopeHistoryRowsLost',
    series: 'perpscope_store_dropped_rows{instance="a"}',
    during: '7',
  },
  {
    alert: 'PerpscopeHistoryRowsLost',
    series: 'perpscope_store_damaged_blocks{instance="a"}',
    during: '1',
  },
  {
    alert: 'PerpscopeHistoryRowsLost',
    series: 'perpscope_store_set_aside_files{instance="a"}',
    during: '1',
  },
  {
    alert: 'PerpscopeRecordingStopped',
    series: 'perpscope_recording_ok{instance="a"}',
    during: '0',
  },
  { alert: 'PerpscopeMirrorStale', series: 'perpscope_mirror_ready{instance="a"}', during: '0' },
  { alert: 'PerpscopeNoLeader', series: 'perpscope_engine_leads{instance="a"}', during: '0' },
  {
    alert: 'PerpscopeSettlementsFailing',
    series: `perpscope_settlements_total{${settlement},outcome="refused"}`,
    during: '20+20',
    after: '820',
    minutes: 40,
  },
  {
    alert: 'PerpscopeSettlementsSlow',
    series: `perpscope_settlement_duration_seconds_bucket{${settlement},le="8"}`,
    during: '600',
    after: '600+30',
    minutes: 40,
  },
  {
    alert: 'PerpscopeUnsettledMoney',
    series: 'perpscope_unsettled_usdc{instance="a",state="unknown",age="day"}',
    during: '0.05',
  },
  {
    alert: 'PerpscopeExposureHigh',
    series: 'perpscope_payment_exposure_usdc{instance="a"}',
    // Below the default of the limit, above a share of this one.
    during: '0.9',
  },
  {
    alert: 'PerpscopeMoneyLost',
    series: `perpscope_lost_usdc_total{${pulseOf},network="eip155:8453"}`,
    during: '0.05',
    after: '0.05',
    goneAfterMinutes: 70,
  },
  {
    alert: 'PerpscopeRefundsDue',
    series: `perpscope_late_settlement_usdc_total{${pulseOf},network="eip155:8453"}`,
    during: '0.05',
    after: '0.05',
    goneAfterMinutes: 70,
  },
  {
    alert: 'PerpscopeGasLow',
    series: 'perpscope_gas_balance_ether{instance="a"}',
    during: '0.0001',
  },
  { alert: 'PerpscopeGasLow', series: 'perpscope_fee_balance_sol{instance="a"}', during: '0.001' },
  {
    alert: 'PerpscopeGasUnknown',
    series: 'perpscope_gas_balance_ether{instance="a"}',
    during: 'NaN',
  },
  {
    alert: 'PerpscopeGasUnknown',
    series: 'perpscope_fee_balance_sol{instance="a"}',
    during: 'NaN',
  },
  {
    alert: 'PerpscopeVouchersUnclaimed',
    series: 'perpscope_channels_unclaimed_age_seconds{instance="a"}',
    during: '50000',
  },
  {
    alert: 'PerpscopeProbeFailing',
    series: 'perpscope_probe_success{instance="p",check="quote"}',
    during: '0',
  },
  { alert: 'PerpscopeProbeDown', series: 'up{job="perpscope-probe",instance="p"}', during: '0' },
  {
    alert: 'PerpscopeCertificateExpiring',
    series: 'perpscope_probe_certificate_end_time_seconds{instance="p"}',
    during: '259200',
    minutes: 70,
  },
]

const MINUTES_BY_DEFAULT = 30

/** One test of promtool: exactly the named alerts fire at the end of the fault, and none before and after it. */
function testOf({ alert, series, during, after, minutes = MINUTES_BY_DEFAULT, ...more }: Fault) {
  const normal = healthy[series]
  if (normal === undefined) throw new Error(`${series} is not in the healthy service`)
  const [, first = '', step = ''] = /^([^+x]+)(\+[^x]+)?x/.exec(normal) ?? []
  const before =
    step === '' ? `${first}x${BEFORE_MINUTES - 1}` : `${first}${step}x${BEFORE_MINUTES}`
  const goneAfter = more.goneAfterMinutes ?? 20
  const fault =
    during === 'NaN' ? Array(minutes).fill(during).join(' ') : `${during}x${minutes - 1}`
  const values = `${before} ${fault} ${after ?? first}x200`
  const firing = [alert, ...(more.also ?? [])].toSorted()
  const checkAt = (minute: number, alerts: readonly string[]) => ({
    expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${minute}m`,
    exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
  })
  return {
    name: `${alert}: ${series} ${during}`,
    interval: '1m',
    input_series: Object.entries({ ...healthy, [series]: values }).map(([name, of]) => ({
      ...{ series: name, values: of },
    })),
    promql_expr_test: [
      checkAt(BEFORE_MINUTES - 1, []),
      checkAt(BEFORE_MINUTES + minutes - 1, firing),
      checkAt(BEFORE_MINUTES + minutes + goneAfter, []),
    ],
  }
}

describe('alert rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-alerts-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('every alert has a planted fault', () => {
    const planted = new Set(faults.map(({ alert }) => alert))
    expect(rules.map(({ alert }) => alert)).toEqual([...new Set(rules.map(({ alert }) => alert))])
    expect([...planted].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
  })

  test('every alert has a severity, and a section of the run book that exists', () => {
    const headings =
      readFileSync(join(ROOT, 'docs/run-book.md'), 'utf8').match(/^### (\w+)$/gm) ?? []
    const sections = headings.map((line) => line.replace('### ', ''))
    expect(sections.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical'], alert).toContain(labels.severity)
      expect(annotations.runbook).toBe(`docs/run-book.md#${alert.toLowerCase()}`)
      expect(annotations.summary.length, alert).toBeGreaterThan(10)
      expect(annotations.description.length, alert).toBeGreaterThan(10)
    }
  })

  test('the run book names metrics, options and commands that exist', () => {
    const text = readFileSync(join(ROOT, 'docs/run-book.md'), 'utf8')
    const source = globSync(['src/**/*.ts'], { cwd: ROOT })
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n')
    const named = (pattern: RegExp) => [
      ...new Set(Array.from(text.matchAll(pattern), ([, one]) => one)),
    ]
    const missing = (names: readonly (string | undefined)[], places: readonly string[]) =>
      names.filter(
        (name) => !places.some((place) => source.includes(place.replace('_', `${name}`))),
      )
    const metrics = named(/\b(perpscope_[a-z_]+)\b/g)
    const options = named(/`(?:[^`]* )?(--[a-z-]+)/g)
    const commands = named(/`perpscope ([a-z]+)/g)
    expect([metrics.length, options.length, commands.length].every((count) => count > 2)).toBe(true)
    expect(missing(metrics, ["'_'"])).toEqual([])
    expect(missing(options, ["'_ ", "'_'"])).toEqual([])
    expect(missing(commands, ["'_'"])).toEqual([])
  })

  function expectByPromtool(tests: readonly object[]): void {
    const file = join(folder, 'alerts.test.yml')
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
    try {
      execFileSync('promtool', ['test', 'rules', file], { stdio: 'pipe' })
    } catch (cause) {
      const { stdout, stderr } = cause as { readonly stdout: Buffer; readonly stderr: Buffer }
      expect.fail(`${stderr}${stdout}`)
    }
  }

  test.skipIf(!hasPrometheus)('each alert fires by its fault alone, and ends with it', () => {
    execFileSync('promtool', ['check', 'rules', RULES], { stdio: 'pipe' })
    expectByPromtool(faults.map((fault) => testOf(fault)))
  })

  /** The value of the expression of an alert at minute 10. */
  const readingOf = (alert: string, series: Readonly<Record<string, string>>, value: number) => ({
    name: alert,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: rules.find((rule) => rule.alert === alert)?.expr ?? '',
        eval_time: '10m',
        exp_samples: [{ labels: '{}', value }],
      },
    ],
  })

  test.skipIf(!hasPrometheus)('a state of the service is not taken for another fault', () => {
    const scenario = (
      name: string,
      series: Readonly<Record<string, string>>,
      alerts: readonly string[],
    ) => ({
      ...{ name, interval: '1m' },
      input_series: Object.entries({ ...healthy, ...series }).map(([one, values]) => ({
        ...{ series: one, values },
      })),
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '60m',
          exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        },
      ],
    })
    const refused =
      'http_server_request_duration_seconds_count{instance="a",http_response_status_code="503"}'
    expectByPromtool([
      scenario(
        'maintenance refuses paid calls',
        { 'perpscope_maintenance{instance="a"}': '1x70', [refused]: '0+600x70' },
        [],
      ),
      scenario(
        'without an engine nothing arrives from any source',
        {
          'perpscope_engine_up{instance="a"}': '0x70',
          [`${lag}{instance="a",source="venue"}`]: '0+60x70',
          [`${lag}{instance="a",source="okx"}`]: '0+60x70',
        },
        ['PerpscopeEngineUnavailable'],
      ),
    ])
  })

  test.skipIf(!hasPrometheus)('two restarts of the engine are no series of restarts', () => {
    const { expr = '' } = rules.find(({ alert }) => alert === 'PerpscopeEngineRestarting') ?? {}
    const series = 'perpscope_engine_restarts_total{instance="a"}'
    expectByPromtool([
      {
        ...{ name: 'two restarts', interval: '1m' },
        input_series: [{ series, values: '0x20 1x3 2x60' }],
        // Between two scrapes, where increase() extrapolates.
        promql_expr_test: [{ expr, eval_time: '30m30s', exp_samples: [] }],
      },
    ])
  })

  test.skipIf(!hasPrometheus)('money in a ledger of several gateways is counted once', () => {
    const unsettled = (instance: string) =>
      `perpscope_unsettled_usdc{instance="${instance}",state="unknown",age="day"}`
    expectByPromtool([
      readingOf(
        'PerpscopeUnsettledMoney',
        { [unsettled('a')]: '0.05x20', [unsettled('b')]: '0.05x20' },
        0.05,
      ),
    ])
  })

  test.skipIf(!hasPrometheus)('no engine leads after all of them have died', () => {
    const series = {
      'perpscope_engine_leads{instance="a"}': '1 1 stale',
      'perpscope_engine_leads{instance="b"}': '0 0 stale',
      'perpscope_mirror_ready{instance="c"}': '0x20',
    }
    expectByPromtool([readingOf('PerpscopeNoLeader', series, 0)])
  })
})
