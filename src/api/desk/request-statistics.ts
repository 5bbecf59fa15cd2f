import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../domain/clock.ts'
import type { RequestFigures, RouteFigures } from '../../domain/desk-reports.ts'
import { DurationCounts } from './duration-counts.ts'

const WINDOW_MS = 5 * 60_000
const SLICES = 10
const SLICE_MS = WINDOW_MS / SLICES
/** More than the routes of the public server; further ones are counted together. */
const ROUTES_MAX = 128
const OTHER_ROUTE = 'other'

type Slice = { readonly durations: DurationCounts; readonly statuses: Map<number, number> }

/** Slices of one route: a ring over the window. */
type Route = { readonly slices: readonly Slice[]; readonly numbers: number[]; total: number }

/**
 * Requests of the last five minutes by route: statuses and durations, in a ring of slices of 30 s. Memory is constant:
 * the routes and the statuses are those of this service.
 */
export class RequestStatistics {
  readonly #clock: Pick<Clock, 'nowMs'>
  readonly #routes = new Map<string, Route>()
  readonly #startedAtMs: number

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
    this.#startedAtMs = clock.nowMs()
  }

  /** Counts every response of this server from now on. */
  observe(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      this.add(request.routeOptions.url ?? OTHER_ROUTE, reply.statusCode, reply.elapsedTime)
      done()
    })
  }

  add(route: string, status: number, ms: number): void {
    const counted = this.#routeOf(route)
    const { durations, statuses } = this.#present(counted)
    durations.add(ms)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    counted.total += 1
  }

  /** Since the start. */
  totalOf(route: string): number {
    return this.#routes.get(route)?.total ?? 0
  }

  figures(): RequestFigures {
    const number = this.#sliceNumber()
    const routes = [...this.#routes].map(([route, counted]) => figuresOf(route, counted, number))
    return {
      windowMs: Math.min(WINDOW_MS, Math.max(0, this.#clock.nowMs() - this.#startedAtMs)),
      routes: routes
        .filter(({ requests }) => requests > 0)
        .sort((a, b) => b.requests - a.requests || (a.route < b.route ? -1 : 1)),
    }
  }

  #routeOf(name: string): Route {
    const known = this.#routes.get(name)
    if (known !== undefined) return known
    if (this.#routes.size >= ROUTES_MAX && name !== OTHER_ROUTE) return this.#routeOf(OTHER_ROUTE)
    const slices = Array.from({ length: SLICES }, () => ({
      durations: new DurationCounts(),
      statuses: new Map<number, number>(),
    }))
    const route = { slices, numbers: Array<number>(SLICES).fill(Number.NaN), total: 0 }
    this.#routes.set(name, route)
    return route
  }

  #present({ slices, numbers }: Route): Slice {
    const number = this.#sliceNumber()
    const at = ((number % SLICES) + SLICES) % SLICES
    const slice = slices[at]
    if (slice === undefined) throw new RangeError(`no slice ${at} of ${SLICES}`)
    if (numbers[at] !== number) {
      slice.durations.clear()
      slice.statuses.clear()
      numbers[at] = number
    }
    return slice
  }

  #sliceNumber(): number {
    return Math.floor(this.#clock.nowMs() / SLICE_MS)
  }
}

function figuresOf(route: string, { slices, numbers }: Route, number: number): RouteFigures {
  const durations = new DurationCounts()
  const statuses = new Map<number, number>()
  for (const [at, slice] of slices.entries()) {
    const age = number - (numbers[at] ?? Number.NaN)
    if (!(age >= 0 && age < SLICES)) continue
    durations.addAll(slice.durations)
    for (const [status, count] of slice.statuses)
      statuses.set(status, (statuses.get(status) ?? 0) + count)
  }
  return {
    route,
    requests: [...statuses.values()].reduce((sum, count) => sum + count, 0),
    statuses: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)),
    p50Ms: durations.quantileMs(0.5),
    p99Ms: durations.quantileMs(0.99),
  }
}
