import { shellWord } from '../../../domain/shell-word.ts'
import { CommandLine } from '../../components/command-line.tsx'

/** How a program buys the same answer. */
export function AgentWays({ path }: { readonly path: string }) {
  return (
    <section class="panel" aria-labelledby="agent-ways">
      <header>
        <h2 id="agent-ways">How an agent buys it</h2>
      </header>
      <p class="fine">
        A program sends the call, signs the terms of the 402 response, and sends the call again with
        the payment. Every x402 client does this.
      </p>
      <CommandLine label="Read the quote" text={`curl -s ${shellWord(location.origin + path)}`} />
      <CommandLine
        label="Buy in a terminal"
        text={`npx perpscope buy ${shellWord(path)} --url ${location.origin} --key-file wallet.key`}
      />
      <p class="fine">
        MCP clients call <code>/mcp</code>; the <a href="/llms.txt">guide for agents</a> and the{' '}
        <a href="/docs">API reference</a> describe all ways.
      </p>
    </section>
  )
}
