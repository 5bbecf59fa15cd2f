import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address, Hex } from 'viem'
import {
  createTestClient,
  encodeFunctionData,
  http,
  parseAbi,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { baseSepolia as chain } from 'viem/chains'
import { baseSepolia } from '../../src/payment/evm/networks.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { startAnvil } from '../../src/simulator/evm/anvil-process.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { compileContracts } from '../golden/compile-contracts.ts'
import { tokenFolder } from '../golden/compile-token.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

const token = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function mint(address to, uint256 value)',
])

/** A local Base Sepolia. Its USDC has another name than the one of Base, which is part of what a buyer signs. */
export async function startBaseSepolia(): Promise<
  Pick<EvmChain, 'rpcUrl' | 'chainId' | 'fundUsdc' | 'balanceOf' | 'close'> & {
    readonly accounts: Pick<EvmChain['accounts'], 'facilitator' | 'merchant'>
  }
> {
  const { chainId, asset } = baseSepolia
  const anvil = await startAnvil(
    ['--chain-id', String(chainId), '--mnemonic', MNEMONIC, '--accounts', '3'],
    systemClock,
  )
  const client = createTestClient({ mode: 'anvil', chain, transport: http(anvil.rpcUrl) })
    .extend(publicActions)
    .extend(walletActions)
  const { usdCoin, multicall } = compiled()
  await client.setCode({ address: asset, bytecode: usdCoin })
  await client.setCode({ address: MULTICALL3, bytecode: multicall })
  return {
    rpcUrl: anvil.rpcUrl,
    chainId,
    accounts: { facilitator: account(1), merchant: account(2) },
    balanceOf: (address) =>
      client.readContract({
        address: asset,
        abi: token,
        functionName: 'balanceOf',
        args: [address],
      }),
    fundUsdc: async (address, atomic) => {
      const data = encodeFunctionData({ abi: token, functionName: 'mint', args: [address, atomic] })
      const hash = await client.sendTransaction({ account: account(0).address, to: asset, data })
      await client.waitForTransactionReceipt({ hash })
    },
    close: anvil.close,
  }
}

function compiled(): { readonly usdCoin: Hex; readonly multicall: Hex } {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-token-'))
  try {
    const source = readFileSync(join(tokenFolder, 'UsdCoin.sol'), 'utf8')
    const renamed = source.replace('name = "USD Coin"', `name = "${baseSepolia.domain.name}"`)
    writeFileSync(join(folder, 'UsdCoin.sol'), renamed)
    copyFileSync(join(tokenFolder, 'Multicall.sol'), join(folder, 'Multicall.sol'))
    return JSON.parse(
      compileContracts(folder, [
        ['UsdCoin.sol', 'UsdCoin', 'usdCoin'],
        ['Multicall.sol', 'Multicall', 'multicall'],
      ]),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function account(addressIndex: number) {
  const derived = mnemonicToAccount(MNEMONIC, { addressIndex })
  return { address: derived.address, privateKey: toHex(derived.getHdKey().privateKey ?? '') }
}
