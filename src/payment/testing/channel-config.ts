import type { ChannelConfig } from '../channels/channel.ts'

const ADDRESS = '0x000000000000000000000000000000000000dEaD'

/** Of a channel of which it does not matter whose it is. */
export const channelConfig: ChannelConfig = {
  payer: ADDRESS,
  payerAuthorizer: ADDRESS,
  receiver: ADDRESS,
  receiverAuthorizer: ADDRESS,
  token: ADDRESS,
  withdrawDelay: 900,
  salt: `0x${'00'.repeat(32)}`,
}
