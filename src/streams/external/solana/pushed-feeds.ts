export type PushedFeed = {
  readonly asset: string
  /** 32 bytes, hexadecimal. */
  readonly id: string
  /** Its accounts under the push oracle program of 2026 and under the previous one. */
  readonly accounts: readonly [upgraded: string, old: string]
}

/** The account of a feed is derived from `[shard 0 as u16, id]`. */
export const PUSH_ORACLE_PROGRAMS = [
  'pyt2F414BA6dPttK6RddPZUdHfapoBN24GL5wbrPCou',
  'pythWSnswVUd12oZpeFP8e9CVaEqJg25g1Vtc2biRsT',
] as const

/** Deviation threshold of Pyth's pusher. */
export const PUSH_RESOLUTION_BPS = 50
/** Longest time between two updates of a feed. */
export const PUSH_HEARTBEAT_MS = 60_000

/** Sponsored feeds on Solana of assets that the venue lists: https://docs.pyth.network/price-feeds/core/push-feeds */
export const pushedFeeds: readonly PushedFeed[] = [
  feed(
    'BTC',
    'e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43',
    'APgzQGGdv2qCgBkX6aHVkrGePtBVDDg68GiqaM7rmtf5',
    '4cSM2e6rvbGQUFiJbqytoVMi5GgghSMr8LwVrT9VPSPo',
  ),
  feed(
    'ETH',
    'ff61491a931112ddf1bd8147cd1b641375f79f5825126d665480874634fd0ace',
    '7odryi4WfoMFHtv2eubdMgP1pqQMmdiXSK1N2tqZ2nRH',
    '42amVS4KgzR9rA28tkVYqVXjq9Qa8dcZQMbH5EYFX6XC',
  ),
  feed(
    'SOL',
    'ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d',
    '7AviUf9nL62mcxNbQGKm4nKDQnPjswo6c5MX4D57HmyE',
    '7UVimffxr9ow1uXYxsr4LHAcV58mLzhmwaeKvJ1pjLiE',
  ),
  feed(
    'USDC',
    'eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a',
    '6HAuqASbHEh4w4REJEUUUCginTLfj1kwCh215ZLtMkrT',
    'Dpw1EAVrSB1ibxiDQyTAW6Zip3J4Btk2x4SgApQCeFbX',
  ),
  feed(
    'USDT',
    '2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b',
    '3XBYLaF9wisQLaCxTgchH6xeNJGchwDauGpot1GcRMZV',
    'HT2PLQBcG5EiCcNSaMHAjSgd9F98ecpATbk4Sk5oYuM',
  ),
  feed(
    'JUP',
    '0a0408d619e9380abad35060f9192039ed5042fa6f82301d0e48bb52be830996',
    'EitcZS5LtbR4EyNhCSy56vvUHPhsifSfWFG5gwSkjNpV',
    '7dbob1psH1iZBS7qPsm3Kwbf5DzSXK8Jyg31CTgTnxH5',
  ),
  feed(
    'BONK',
    '72b021217ca3fe68922a19aaf990109cb9d84e9ad004b4d2025ad6f529314419',
    '3nMpgBXnjBSDYupQQEVR7DZM65zkJCdKy1Up7nkqp99w',
    'DBE3N8uNjhKPRHfANdwGvCZghWXyLPdqdSbEW2XFwBiX',
  ),
  feed(
    'WIF',
    '4ca4beeca86f0d164160323817a4e42b10010a724c2217c6ee41b54cd4cc61fc',
    '9Sn9FVu6WpufA8yZFSRuxYyFgpBrhc5PpTgB3mq2DcsG',
    '6B23K3tkb51vLZA14jcEQVCA1pfHptzEHFA93V5dYwbT',
  ),
  feed(
    'PENGU',
    'bed3097008b9b5e3c93bec20be79cb43986b85a996475589351a21e67bae9b61',
    '4gce7zkGgvpbNdkiGvq2VyvDzjRF6kmMDBTTh9DRhDkC',
    '27zzC5wXCeZeuJ3h9uAJzV5tGn6r5Tzo98S1ZceYKEb8',
  ),
  feed(
    'TRUMP',
    '879551021853eec7a7dc827578e8e69da7e4fa8148339aa0d3d5296405be4b1a',
    '7m3TTzNMFwpMPVz7b8PDtQAKwvT62T1Jxnue2htLGXp',
    '9vNb2tQoZ8bB4vzMbQLWViGwNaDJVtct13AGgno1wazp',
  ),
  feed(
    'FARTCOIN',
    '58cd29ef0e714c5affc44f269b2c1899a52da4169d7acc147b9da692e6953608',
    '65g8gPGkHH5Ss5YPJNCxRAa9dnvp37khzeY7tbbe3ntw',
    '2t8eUbYKjidMs3uSeYM9jXM9uudYZwGkSeTB4TKjmvnC',
  ),
  feed(
    'PUMP',
    '7a01fca212788bba7c5bf8c9efd576a8a722f070d2c17596ff7bb609b8d5c3b9',
    '4KL8nVtrXmLjbbHtrDz5YCHNqmii62oHfr9bsUtx1bgi',
    'HMm3GPbdnqGwbkTnUUqCFsH8AMHDdEC3Lg8gcPD3HJSH',
  ),
  feed(
    'PYTH',
    '0bbf28e9a841a1cc788f6a361b17ca072d0ea3098a1e5df1c3922d06719579ff',
    'BTeWTCeCVxRXsHA6biwGvw6ynAovr3i7UDLsP9SzZTrA',
    '8vjchtMuJNY4oFQdTi8yCe6mhCaNBFaUbktT482TpLPS',
  ),
  feed(
    'W',
    'eff7446475e218517566ea99e72a4abec2e1bd8498b43b7d8331e29dcb059389',
    '2GhB6ADsPxhvSUZC1KJsTnwrMZ2ayrBrhy8m4WsGoTSC',
    'BEMsCSQEGi2kwPA4mKnGjxnreijhMki7L4eeb96ypzF9',
  ),
  feed(
    'MEW',
    '514aed52ca5294177f20187ae883cec4a018619772ddce41efcc36a6448f5d5d',
    '6XMrjmSgWrjguXzZUj8mQPqsqvMqx5Cui48LFDRWBGBd',
    'EF6U755BdHMXim8RBw6XSC6Yk6XaouTKpwcBZ7QkcanB',
  ),
]

function feed(asset: string, id: string, upgraded: string, old: string): PushedFeed {
  return { asset, id, accounts: [upgraded, old] }
}
