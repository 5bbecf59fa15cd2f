import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { CallTrace } from '../api/traced-calls.ts'
import { traceCalls } from '../api/traced-calls.ts'
import { ConfigError } from '../config/config-error.ts'
import { tracingPackages, version } from '../config/environment.ts'
import { reasonOf } from '../domain/errors.ts'
import { optionalPackagesCommand } from './optional-packages.ts'
import { systemClock } from './system-clock.ts'

/** Further calls within a second are not traced, so that a load costs nothing here. */
const TRACES_A_SECOND_MAX = 10
/** The defaults of the SDK. What does not fit while the collector is away is dropped. */
const QUEUE_SPANS_MAX = 2_048
const EXPORT_PERIOD_MS = 5_000
const EXPORT_MS_MAX = 5_000
/** For the last spans at the end of the process. */
const FLUSH_MS_MAX = 1_000

export type Tracing = {
  /** Traces the paid calls of a server from now on. */
  observe(app: FastifyInstance): void
  stop(): Promise<void>
}

/**
 * Sends traces of paid calls to an OpenTelemetry collector.
 * @param endpoint base of OTLP over HTTP, such as `http://127.0.0.1:4318`; without one nothing is loaded or traced
 * @throws ConfigError with the command that installs the packages, if they are absent
 */
export async function tracingTo(endpoint: string | undefined, log: Logger): Promise<Tracing> {
  if (endpoint === undefined) return { observe: () => {}, stop: async () => {} }
  const { sdk, exporter, resources } = await packages()
  const target = new exporter.OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    timeoutMillis: EXPORT_MS_MAX,
  })
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({
      'service.name': 'perpscope',
      'service.version': version,
    }),
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: noted(target, log),
        maxQueueSize: QUEUE_SPANS_MAX,
        scheduledDelayMillis: EXPORT_PERIOD_MS,
        exportTimeoutMillis: EXPORT_MS_MAX,
      }),
    ],
  })
  const tracer = provider.getTracer('perpscope', version)
  const isSampled = atMost(TRACES_A_SECOND_MAX)
  return {
    observe: (app) =>
      traceCalls(app, isSampled, (call) => report(tracer, call, systemClock.nowMs())),
    stop: () =>
      Promise.race([
        provider.shutdown().catch(() => {}),
        new Promise<void>((resolve) => systemClock.after(FLUSH_MS_MAX, resolve)),
      ]),
  }
}

async function packages() {
  try {
    const [sdk, exporter, resources] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
    return { sdk, exporter, resources }
  } catch (cause) {
    throw new ConfigError(
      '--otlp-endpoint needs packages that are not installed. Install them with ' +
        `\`${optionalPackagesCommand(tracingPackages, 'serve')}\``,
      { cause },
    )
  }
}

/** Logs when exports begin to fail, and when they work again. */
function noted(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== 0
        if (hasFailed && !isFailing)
          log.warn(
            { reason: reasonOf(result.error) },
            'the collector of --otlp-endpoint does not take traces; they are dropped until it does',
          )
        if (!hasFailed && isFailing) log.info('the collector of --otlp-endpoint takes traces again')
        isFailing = hasFailed
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  }
}

/** True at most this number of times in each second. */
function atMost(count: number): () => boolean {
  let second = Number.NaN
  let taken = 0
  return () => {
    const present = Math.floor(systemClock.nowMs() / 1_000)
    if (present !== second) taken = 0
    second = present
    taken += 1
    return taken <= count
  }
}

type Tracer = ReturnType<typeof trace.getTracer>

/** One span of the call, and one below it for each step. */
function report(tracer: Tracer, call: CallTrace, endedAtMs: number): void {
  const { method, route, status, code, requestId, durationMs, steps } = call
  const beganAtMs = endedAtMs - durationMs
  const root = tracer.startSpan(
    `${method} ${route}`,
    {
      root: true,
      kind: SpanKind.SERVER,
      startTime: beganAtMs,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'perpscope.request_id': requestId,
        ...(code === null ? {} : { 'error.type': code }),
      },
    },
    ROOT_CONTEXT,
  )
  if (status >= 500) root.setStatus({ code: SpanStatusCode.ERROR })
  const context = trace.setSpan(ROOT_CONTEXT, root)
  for (const { name, beginMs, endMs, isError } of steps) {
    const step = tracer.startSpan(name, { startTime: beganAtMs + beginMs }, context)
    if (isError) step.setStatus({ code: SpanStatusCode.ERROR })
    step.end(beganAtMs + endMs)
  }
  root.end(endedAtMs)
}
