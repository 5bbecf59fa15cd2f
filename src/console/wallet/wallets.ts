import { signal } from '@preact/signals'
import type { Wallet, WalletProvider } from './wallet-provider.ts'

/** Event `eip6963:announceProvider`. */
type Announcement = {
  readonly info: { readonly uuid: string; readonly name: string }
  readonly provider: WalletProvider
}

/** Wallets of this browser, in the order in which they announce themselves (EIP-6963). */
export const wallets = signal<readonly Wallet[]>([])

addEventListener('eip6963:announceProvider', (event) => {
  const { info, provider } = (event as CustomEvent<Announcement>).detail
  const others = wallets.peek().filter((one) => one.id !== info.uuid && one.id !== INJECTED)
  wallets.value = [...others, { id: info.uuid, name: info.name, provider }]
})

/** The one of a browser whose wallet does not announce itself. */
const INJECTED = 'injected'

/** Asks wallets to announce themselves; one may be installed while the page is open. */
export function findWallets(): void {
  dispatchEvent(new Event('eip6963:requestProvider'))
  const { ethereum } = globalThis as { readonly ethereum?: WalletProvider }
  if (wallets.peek().length === 0 && ethereum !== undefined)
    wallets.value = [{ id: INJECTED, name: 'Browser wallet', provider: ethereum }]
}
