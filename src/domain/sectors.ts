/** Main use of each coin, by the venue's spelling, as of 2026-11. Coins not listed here, such as BTC, have no sector. */
const coinsBySector = {
  L1:
    'ETH SOL AVAX BNB ATOM SUI APT SEI NEAR INJ TIA DOT ADA TON TRX KAS ALGO HBAR HYPE ICP ' +
    'XLM S BERA IP MINA CFX CELO DYM SAGA IOTA ZETA INIT MON NIL CC STABLE FOGO',
  L2:
    'OP ARB POL MNT STRK ZK MANTA METIS IMX LINEA MEGA SCR BLAST STX MERL MOVE LAYER SOPH ' +
    'POLYX',
  DeFi:
    'AAVE UNI CRV LDO SNX GMX DYDX COMP SUSHI PENDLE CAKE RSR JUP ENA ETHFI MORPHO RUNE SKY ' +
    'MKR REZ EIGEN ONDO SYRUP RESOLV AERO ASTER AVNT LIT DRIFT WLFI USUAL HYPER TNSR BANANA ' +
    'STBL MET RAY',
  Meme:
    'DOGE kPEPE kSHIB kBONK kFLOKI WIF POPCAT BRETT MEW BOME MEME PEOPLE TURBO kNEIRO GOAT ' +
    'MOODENG PNUT FARTCOIN SPX TRUMP MELANIA PENGU CHILLGUY kLUNC HMSTR NOT PURR VINE ANIME ' +
    'BABY DOOD PUMP kDOGS',
  AI:
    'FET TAO RENDER WLD AIXBT VIRTUAL GRASS IO KAITO GRIFFAIN VVV AI16Z ZEREBRO PROMPT 0G ' +
    'ARKM ELIZAOS',
  Payments: 'XRP LTC BCH BSV ETC DASH XMR ZEC ZEN XPL',
  Infrastructure:
    'LINK PYTH FIL AR W ZRO ENS TRB API3 UMA BIO ARK WCT ALT GAS NEO JTO 2Z PROVE HEMI GRT',
  Gaming: 'APE AXS SAND GALA YGG BIGTIME SUPER GMT XAI ACE ME BLUR NXPC',
} as const

export type Sector = keyof typeof coinsBySector

/** In the order of answers. */
export const sectors = Object.keys(coinsBySector) as readonly Sector[]

const sectorByCoin: ReadonlyMap<string, Sector> = new Map(
  sectors.flatMap((sector) => coinsBySector[sector].split(' ').map((coin) => [coin, sector])),
)

export function sectorOf(coin: string): Sector | undefined {
  return sectorByCoin.get(coin)
}

/** Each coin is in exactly one bucket; large coins are Majors regardless of their sector. */
export const coinBuckets = ['Majors', ...sectors, 'Privacy', 'TradFi', 'Other'] as const
export type CoinBucket = (typeof coinBuckets)[number]

const majors = new Set('BTC ETH SOL BNB XRP HYPE'.split(' '))
const privacy = new Set('XMR ZEC DASH ZEN'.split(' '))

/** A builder dex may list the coins of this table; what it lists besides are stocks, commodities, indices and currencies. */
export function coinBucketOf(coin: string): CoinBucket {
  const name = coin.slice(coin.indexOf(':') + 1)
  if (majors.has(name)) return 'Majors'
  if (privacy.has(name)) return 'Privacy'
  return sectorOf(name) ?? (name === coin ? 'Other' : 'TradFi')
}
