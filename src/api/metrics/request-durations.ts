import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { Histogram } from 'prom-client'

/** Of the semantic conventions of OpenTelemetry, with three smaller ones: most answers are read from memory. */
const SECONDS = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5],
  ...[5, 7.5, 10],
]
const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'PUT', 'PATCH'])
/** As the conventions name an unknown method. */
const OTHER_METHOD = '_OTHER'
const NO_ROUTE = 'unmatched'

/**
 * Measures every response of a server, by the pattern of its route; all unknown paths are one route.
 * https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ in the spelling of Prometheus
 */
export function measureRequests(app: FastifyInstance, metrics: Registry): void {
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the arrival of a request until its response was sent.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: SECONDS,
    registers: [metrics],
  })
  app.addHook('onResponse', (request, reply, done) => {
    durations.observe(
      {
        http_request_method: METHODS.has(request.method) ? request.method : OTHER_METHOD,
        http_route: request.routeOptions.url ?? NO_ROUTE,
        http_response_status_code: reply.statusCode,
      },
      reply.elapsedTime / 1_000,
    )
    done()
  })
}
