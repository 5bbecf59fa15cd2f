import type { ComponentChildren } from 'preact'

type ScrollRegionProps = {
  /** Name for screen readers. */
  readonly label: string
  /** Scrolls also what is higher than the window. */
  readonly isTall?: boolean
  readonly onScroll?: (region: HTMLElement) => void
  readonly children: ComponentChildren
}

/** Scrolls what is wider than the page, also by the keyboard. */
export function ScrollRegion({ label, isTall = false, onScroll, children }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section would appear in the outline of the page
    <div
      class={isTall ? 'scroll scroll-tall' : 'scroll'}
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={onScroll && (({ currentTarget }) => onScroll(currentTarget))}
    >
      {children}
    </div>
  )
}
