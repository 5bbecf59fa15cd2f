import MiniSearch from 'minisearch'
import { searchOptions } from '../search-options.ts'

const RESULTS_MAX = 12

declare global {
  var searchIndex: object | undefined
}

const root = document.currentScript?.dataset['root'] ?? ''
const input = document.querySelector<HTMLInputElement>('#search')
const list = document.querySelector<HTMLOListElement>('#results')
let index: Promise<MiniSearch> | null = null

/** As a script and not by `fetch`, so that the site also works from a folder. */
function loadIndex(): Promise<MiniSearch> {
  index ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = `${root}search-index.js`
    script.onload = () => resolve(MiniSearch.loadJS(globalThis.searchIndex as never, searchOptions))
    script.onerror = () => reject(new Error('the search index could not be loaded'))
    document.head.append(script)
  })
  return index
}

async function show(query: string): Promise<void> {
  if (list === null) return
  const found = query === '' ? [] : (await loadIndex()).search(query).slice(0, RESULTS_MAX)
  if (query !== input?.value.trim()) return
  list.replaceChildren(
    ...found.map(({ id, title, page }) => {
      const link = document.createElement('a')
      link.href = root + String(id)
      const where = document.createElement('small')
      where.textContent = page === title ? '' : String(page)
      link.append(String(title), where)
      const item = document.createElement('li')
      item.append(link)
      return item
    }),
  )
  list.hidden = query === ''
  if (query !== '' && found.length === 0) list.textContent = 'Nothing found.'
}

input?.addEventListener('focus', () => void loadIndex())
input?.addEventListener('input', () => void show(input.value.trim()))
input?.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    input.value = ''
    void show('')
  }
  if (event.key === 'Enter') list?.querySelector('a')?.click()
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return
  event.preventDefault()
  input?.focus()
})
