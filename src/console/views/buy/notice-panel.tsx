import type { ComponentChildren } from 'preact'

type NoticePanelProps = {
  readonly title: string
  readonly text: string
  /** What the reader can do. */
  readonly children?: ComponentChildren
}

/** What happened, whether anything was charged, and what to do. */
export function NoticePanel({ title, text, children }: NoticePanelProps) {
  return (
    <section class="panel notice-panel">
      <h2>{title}</h2>
      <p>{text}</p>
      {children && <div class="actions">{children}</div>}
    </section>
  )
}
