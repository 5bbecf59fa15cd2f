import { render } from 'preact'
import { startStream } from './live/documents.ts'
import { loadFacts } from './live/service.ts'
import { App } from './shell/app.tsx'
import { needsSignIn, SignIn } from './shell/sign-in.tsx'
import './styles/tokens.css'
import './styles/layout.css'
import './styles/components.css'
import './styles/purchase.css'
import './styles/charts.css'
import './styles/coin.css'
import './styles/desk.css'
import './styles/data-table.css'
import './styles/bars.css'
import './styles/market.css'
import './styles/matrix.css'
import './styles/world.css'

const root = document.getElementById('console')
if (root === null) throw new Error('the page has no element for the console')

try {
  await loadFacts()
  startStream()
  render(<App />, root)
} catch (cause) {
  render((await needsSignIn()) ? <SignIn /> : <Unreachable cause={cause} />, root)
}

function Unreachable({ cause }: { readonly cause: unknown }) {
  return (
    <p class="notice" role="alert">
      The service cannot be reached: {cause instanceof Error ? cause.message : String(cause)}.
      Reload the page.
    </p>
  )
}
