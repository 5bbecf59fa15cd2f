import type { FastifyInstance } from 'fastify'
import { sendProblem } from '../send-problem.ts'
import type { DeskReports } from './desk-reports.ts'

/** Runs the checks of `perpscope doctor`. */
export interface DoctorRuns {
  /** @returns false while a run is in progress */
  start(): boolean
}

/** The reports of the desk by path, and the run of the doctor. */
export function deskRoutes(app: FastifyInstance, reports: DeskReports, doctor: DoctorRuns): void {
  app.get('/desk/health', () => reports.health())
  app.get('/desk/money', () => reports.money())
  app.get('/desk/control', () => reports.control())

  app.post('/doctor', (request, reply) => {
    if (!doctor.start())
      return sendProblem(reply, 'service_not_ready', {
        detail: 'The doctor is running; its report follows at /desk/control.',
        retryAfterSeconds: RETRY_SECONDS,
      })
    request.log.info('doctor requested')
    return reply.code(202).send({ running: true })
  })
}

/** The venue and the sources take some ten seconds. */
const RETRY_SECONDS = 10
