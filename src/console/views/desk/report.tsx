import type { ComponentChildren } from 'preact'
import { clockTime, duration } from '../../components/format.ts'
import { now } from '../../live/service.ts'
import { useDocument } from '../../live/use-document.ts'

type ReportProps<Report> = {
  readonly title: string
  /** Name of the report in the stream, such as `/desk/health`. */
  readonly name: string
  /** An older report is marked. */
  readonly oldAfterMs: number
  readonly children: (report: Report) => ComponentChildren
}

/** A view of one report of the operator's desk, or why there is none. */
export function ReportView<Report>({ title, name, oldAfterMs, children }: ReportProps<Report>) {
  const state = useDocument<Report>(name).value
  if (state.kind !== 'answer')
    return (
      <>
        <h1>{title}</h1>
        {state.kind === 'refused' ? (
          <p class="notice" role="alert">
            {state.refusal.detail}
          </p>
        ) : (
          <p class="empty" aria-busy="true">
            Waiting for the report.
          </p>
        )}
      </>
    )
  const ageMs = Math.max(0, now.value - state.atMs)
  const isOld = ageMs > oldAfterMs || state.refusal !== null
  return (
    <>
      <div class="report-head">
        <h1>{title}</h1>
        <p class={isOld ? 'freshness old' : 'freshness'}>
          <span>{clockTime(state.atMs)}</span>
          <span class="age">{duration(ageMs)} old</span>
          {state.refusal !== null && <span class="refusal">{state.refusal.detail}</span>}
        </p>
      </div>
      <div class="grid" data-document={name} data-version={state.version}>
        {children(state.answer)}
      </div>
    </>
  )
}
