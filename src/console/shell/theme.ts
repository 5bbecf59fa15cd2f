import { effect, signal } from '@preact/signals'

export type Theme = 'light' | 'dark'

const KEY = 'perpscope-theme'
const system = matchMedia('(prefers-color-scheme: dark)')

const chosen = signal<Theme | null>(storedTheme())
const preferred = signal<Theme>(system.matches ? 'dark' : 'light')
system.addEventListener('change', ({ matches }) => {
  preferred.value = matches ? 'dark' : 'light'
})

export function theme(): Theme {
  return chosen.value ?? preferred.value
}

export function toggleTheme(): void {
  chosen.value = theme() === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem(KEY, chosen.value)
  } catch {
    // The browser stores nothing of this site: the choice lasts as long as the page.
  }
}

effect(() => {
  document.documentElement.dataset['theme'] = theme()
})

/** A color of the style sheet, for canvases. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function storedTheme(): Theme | null {
  try {
    const stored = localStorage.getItem(KEY)
    return stored === 'light' || stored === 'dark' ? stored : null
  } catch {
    return null
  }
}
