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
  localStorage.setItem(KEY, chosen.value)
}

effect(() => {
  document.documentElement.dataset['theme'] = theme()
})

/** A color of the style sheet, for canvases. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function storedTheme(): Theme | null {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : null
}
