import { systemClock } from '../src/roles/system-clock.ts'
import type { LinkEngineSettings } from '../test/support/link-engine.ts'
import { LinkEngineProcess, LinkGateway } from '../test/support/link-rig.ts'
import { startRedis } from '../test/support/redis.ts'
import { until } from '../test/support/service.ts'
import type { ClusterLine } from './cluster-line.ts'
import { seconds } from './cluster-line.ts'

const takeovers = [
  { signal: 'SIGKILL', limitMs: 5_000 },
  { signal: 'SIGTERM', limitMs: 1_000 },
  { signal: 'SIGSTOP', limitMs: 5_000 },
] as const
const GATEWAYS = 2
/** In which a continued leader would publish, if it could. */
const CONTINUED_MS = 1_500

export type TakeoverSize = { readonly coins: number; readonly documentBytes: number }

/** Ends or stops the leader of two engine processes, and measures when both gateways have documents of the next one. */
export async function* takeoverLines(size: TakeoverSize): AsyncGenerator<ClusterLine> {
  for (const { signal, limitMs } of takeovers) yield await takeover(signal, limitMs, size)
}

async function takeover(
  signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP',
  limitMs: number,
  { coins: coinCount, documentBytes }: TakeoverSize,
): Promise<ClusterLine> {
  const coins = Array.from({ length: coinCount }, (_, at) => `C${at}`)
  const size = { coins, documentsPerCoin: 13, documentBytes, periodMs: 1_000 }
  const cleanups: (() => unknown)[] = []
  try {
    const { url, close } = await startRedis()
    cleanups.push(close)
    const start = (engineId: string) => {
      const settings: LinkEngineSettings = { url, engineId, ...size }
      const engine = new LinkEngineProcess(settings)
      cleanups.push(() => engine.end())
      return engine
    }
    const leader = start('one')
    await leader.leads()
    const standby = start('two')
    await standby.starts()
    const gateways = Array.from({ length: GATEWAYS }, () => {
      const gateway = new LinkGateway(url)
      cleanups.push(() => gateway.close())
      return gateway
    })
    const allNewer = (sinceMs: number) =>
      Promise.all(gateways.map((gateway) => gateway.freshAfter(sinceMs, coins)))
    const epochs = () => gateways.map(({ mirror }) => mirror.epoch).join()
    await allNewer(systemClock.nowMs())
    const signalledAtMs = systemClock.nowMs()
    const { epoch: formerEpoch } = gateways[0]?.mirror ?? { epoch: 0 }
    leader.signal(signal)
    const firstMs = Math.max(
      ...(await Promise.all(
        gateways.map(async ({ mirror, replica }) => {
          await until('the next leader has sent a newer document', async () => {
            const isNewer = (coin: string) =>
              (replica.document(`pulse/${coin}`)?.renderedAtMs ?? 0) > signalledAtMs
            return mirror.epoch > formerEpoch && coins.some(isNewer)
          })
          return systemClock.nowMs() - signalledAtMs
        }),
      )),
    )
    const allMs = Math.max(...(await allNewer(signalledAtMs)))
    await standby.leads()
    const epochsBefore = epochs()
    if (signal === 'SIGSTOP') {
      leader.signal('SIGCONT')
      await until('the former leader stands by', async () => !leader.isLeading)
      await new Promise<void>((resolve) => systemClock.after(CONTINUED_MS, resolve))
    }
    const isFollowed = epochs() === epochsBefore
    const expected = await standby.finalDocuments()
    await until('all are published', async () =>
      gateways.every((gateway) => gateway.documents(coins).join() === expected.join()),
    ).catch(() => {})
    const older = gateways.reduce((sum, { replica }) => sum + replica.older, 0)
    const wrong = gateways.reduce(
      (sum, gateway) =>
        sum + gateway.documents(coins).filter((text, at) => text !== expected[at]).length,
      0,
    )
    const isRight = isFollowed && older === 0 && wrong === 0
    return {
      what: `leader ${signal}, ${coinCount} coins: first newer document of the next leader`,
      measured:
        `${seconds(firstMs)}, of all coins ${seconds(allMs)}; ${wrong} wrong and ${older} older of ` +
        `${expected.length * GATEWAYS}${refusals(signal, leader)}`,
      bar: `${limitMs / 1_000} s, 0, 0`,
      isMet: isRight && firstMs <= limitMs,
      isWrong: !isRight,
    }
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

function refusals(signal: string, leader: LinkEngineProcess): string {
  if (signal !== 'SIGSTOP') return ''
  return `; of the continued leader ${leader.refusedPublications} refused`
}
