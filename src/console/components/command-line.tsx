import { useSignal } from '@preact/signals'
import { ScrollRegion } from './scroll-region.tsx'

type CommandLineProps = { readonly label: string; readonly text: string }

/** A command to copy. */
export function CommandLine({ label, text }: CommandLineProps) {
  const isCopied = useSignal(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    isCopied.value = true
  }
  return (
    <div class="command">
      <span class="command-label">{label}</span>
      <ScrollRegion label={label}>
        <code>{text}</code>
      </ScrollRegion>
      <button type="button" class="button" onClick={copy}>
        {isCopied.value ? 'Copied' : 'Copy'}
        <span class="visually-hidden"> the command: {label}</span>
      </button>
    </div>
  )
}
