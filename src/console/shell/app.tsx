import { computed, useSignal, useSignalEffect } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import type { Connection } from '../live/service.ts'
import { connection, facts } from '../live/service.ts'
import { hrefOf, place } from './router.ts'
import { theme, toggleTheme } from './theme.ts'
import type { ConsoleView } from './views.ts'
import { views } from './views.ts'

/** Computed, so that a change of another part of the address, such as a sort, does not render the page again. */
const viewId = computed(() => place.value.view)

export function App() {
  const own = views.filter(({ ports }) => ports.includes(facts().port))
  const current = own.find(({ id }) => id === viewId.value) ?? own[0]
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="masthead">
        <a class="brand" href={hrefOf(own[0]?.id ?? '')}>
          perpscope
        </a>
        <nav aria-label="Views">
          {own.map(({ id, title }) => (
            <a key={id} href={hrefOf(id)} aria-current={id === current?.id ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <button type="button" class="theme" onClick={toggleTheme}>
          {theme() === 'dark' ? 'Light' : 'Dark'}
        </button>
      </header>
      <ConnectionNote />
      <main id="content" tabIndex={-1}>
        {current && <Loaded key={current.id} view={current} />}
      </main>
      <footer>
        <p>
          perpscope {facts().version} · <a href="/docs">API</a> · <a href="/llms.txt">llms.txt</a> ·
          charts by <a href="https://www.tradingview.com/">TradingView</a>
        </p>
      </footer>
    </>
  )
}

function Loaded({ view }: { readonly view: ConsoleView }) {
  const loaded = useSignal<{ readonly Page: FunctionComponent } | null>(null)
  const failed = useSignal(false)
  useSignalEffect(() => {
    view.load().then(
      (Page) => {
        loaded.value = { Page }
      },
      () => {
        failed.value = true
      },
    )
  })
  if (failed.value)
    return (
      <p class="notice" role="alert">
        This view could not be loaded. Reload the page.
      </p>
    )
  if (loaded.value === null) return <p class="empty">Loading.</p>
  const { Page } = loaded.value
  return <Page />
}

const troubles: Readonly<Record<Connection, string | null>> = {
  available: null,
  connecting: null,
  lost: 'The connection to the service is lost. Figures are no longer updated.',
  silent: 'The analysis engine does not respond. Figures are no longer updated.',
  unavailable: 'The analysis engine is not running. Figures are no longer updated.',
}

function ConnectionNote() {
  const trouble = troubles[connection.value]
  return (
    <div class="connection" role="status" aria-live="polite">
      {trouble !== null && <p class="notice">{trouble}</p>}
    </div>
  )
}
