/**
 * EIP-712 types of signed receipts, for the service that signs them and for the page that verifies them. `Receipt` is
 * that of the x402 extension `offer-receipt`, version 1.
 */
export const receiptDomain = { name: 'x402 receipt', version: '1', chainId: 1 } as const

export const receiptTypes = {
  Receipt: [
    { name: 'version', type: 'uint256' },
    { name: 'network', type: 'string' },
    { name: 'resourceUrl', type: 'string' },
    { name: 'payer', type: 'string' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'transaction', type: 'string' },
  ],
} as const

/** With the SHA-256 of the answer; its version is 2. */
export const contentReceiptTypes = {
  Receipt: [...receiptTypes.Receipt, { name: 'contentHash', type: 'bytes32' }],
} as const
