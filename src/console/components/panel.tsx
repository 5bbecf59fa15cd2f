import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { AnswerState, DocumentState } from '../live/documents.ts'
import { useDocument } from '../live/use-document.ts'
import { Freshness } from './freshness.tsx'
import { OfferButton } from './offer-button.tsx'

type PanelProps<Answer> = {
  readonly title: string
  /** Path of the call whose answer the panel shows. */
  readonly name: string
  /** `wide` takes the whole row. */
  readonly width?: 'wide' | 'half'
  /** How often the document is made, if it is less often than answers are. */
  readonly periodSeconds?: number
  readonly children: (answer: Answer, state: AnswerState) => ComponentChildren
}

/** A titled part of a view that shows one document, or why there is none. */
export function Panel<Answer>({
  title,
  name,
  width = 'half',
  periodSeconds = 0,
  children,
}: PanelProps<Answer>) {
  const id = useId()
  const current = useDocument<Answer>(name).value
  return (
    <section
      class={`panel panel-${width}`}
      aria-labelledby={id}
      data-document={name}
      data-version={current.kind === 'answer' ? current.version : undefined}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {current.kind === 'answer' && <Freshness state={current} periodSeconds={periodSeconds} />}
        {current.kind === 'answer' && current.origin === 'example' && <OfferButton name={name} />}
      </header>
      <PanelBody name={name} state={current}>
        {children}
      </PanelBody>
    </section>
  )
}

type BodyProps<Answer> = Pick<PanelProps<Answer>, 'name' | 'children'> & {
  readonly state: DocumentState<Answer>
}

function PanelBody<Answer>({ name, state, children }: BodyProps<Answer>) {
  switch (state.kind) {
    case 'answer':
      return <>{children(state.answer, state)}</>
    case 'refused':
      return <p class="empty">{state.refusal.detail}</p>
    case 'for-sale':
      return (
        <p class="empty">
          <OfferButton name={name} />
        </p>
      )
    case 'waiting':
      return (
        <p class="empty" aria-busy="true">
          Waiting for data.
        </p>
      )
    default:
      return state satisfies never
  }
}
