import { PegPanel } from './peg-panel.tsx'
import { SentimentPanel } from './sentiment-panel.tsx'
import { StressPanel } from './stress-panel.tsx'

/** What surrounds the venue: other chains, the dollar of its margin, and sentiment. */
export function World() {
  return (
    <>
      <h1>World</h1>
      <div class="grid">
        <StressPanel />
        <PegPanel />
        <SentimentPanel />
      </div>
    </>
  )
}
