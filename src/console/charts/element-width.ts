import type { RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

/** Width of an element in CSS pixels; 0 before it is laid out. */
export function useElementWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const shown = element.current
    if (shown === null) return
    const observer = new ResizeObserver(() => setWidth(shown.clientWidth))
    observer.observe(shown)
    setWidth(shown.clientWidth)
    return () => observer.disconnect()
  }, [element])
  return width
}
