import { join, relative } from 'node:path'
import { crc32 } from 'node:zlib'
import { defineConfig } from 'vitest/config'
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

/** Also of the examples of properties: a run that fails does so because of a change. */
const SEED = 20_261_126
const DEEP = '**/*.deep.test.ts'

/** Files that take longest. They start first, so that no worker runs the last of them while the others have ended. */
const LONG = [
  'test/console.deep',
  'test/external-faults.deep',
  'test/demo.deep',
  'test/documented-code.deep',
  'test/recording.deep',
  'test/backup.deep',
  'test/package.deep',
  'test/external-several-faults.deep',
  'test/console-market.deep',
  'test/simulation/planted.deep',
  'test/simulation/simulation.deep',
  'test/external-truth.deep',
  'test/link-faults.deep',
  'test/shutdown.deep',
  'test/openapi-truth.deep',
  'test/service',
  'test/interfaces',
  'test/serve-refusals.deep',
  'test/commands',
  'test/discovery',
  'test/buy',
].map((name) => `${name}.test.ts`)

/** The long files, then the others in the order of the seed. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root, sequence } = this.ctx.config
    const place = ({ moduleId }: TestSpecification) => {
      const name = relative(root, moduleId)
      const at = LONG.indexOf(name)
      return at === -1 ? LONG.length + crc32(`${sequence.seed} ${name}`) : at
    }
    return files.toSorted((one, other) => place(one) - place(other))
  }
}

/**
 * `unit` lies beside the code and needs nothing but it. `system` lies in `test/`: it starts the built
 * service, chains and simulators as real processes, so it runs after `npm run build`. `deep` is named
 * `*.deep.test.ts` in either place: it searches, and takes minutes.
 */
export default defineConfig({
  test: {
    restoreMocks: true,
    env: {
      // Services that tests start load their code compiled: a tenth of what a start costs.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/perpscope/v8'),
      // They stay the process that they are, which saves a quarter of their CPU: `docs/testing.md`, "Duration".
      MALLOC_ARENA_MAX: '2',
    },
    // Within a second, which is the default, a busy machine may not have come to it.
    expect: { poll: { timeout: 20_000 } },
    // The order within a file shows what rests on what ran before. Another order is `--sequence.seed`.
    sequence: { shuffle: { tests: true }, sequencer: LongFirst, seed: SEED },
    setupFiles: ['test/support/fixed-seed.ts', 'test/support/end-with-worker.ts'],
    // Two more than the two cores of the smallest machine: a test waits half of its time for services and browsers.
    maxWorkers: 4,
    // The deep tests of `.ci/run` take what the quick ones have transformed. A changed file is transformed again.
    fsModuleCache: true,
    // Modules keep nothing that a test could leave behind, so they are loaded once a worker and not once a file,
    // which took a fifth of the time. The shuffled order shows where that stops being true.
    isolate: false,
    projects: [
      // Time limits are for what hangs: machines have been seen that take three times as long as others.
      {
        extends: true,
        test: {
          name: 'unit',
          // One project after the other: a worker that changes to the other one is started and loaded again.
          sequence: { groupOrder: 0 },
          // Unit tests wait for nothing, and each further worker loads all modules once more.
          maxWorkers: 2,
          include: ['src/**/*.test.ts'],
          exclude: [DEEP],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          sequence: { groupOrder: 1 },
          include: ['test/**/*.test.ts'],
          exclude: [DEEP],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'deep',
          sequence: { groupOrder: 2 },
          // They use 1,000 s of CPU, and wait for services, browsers and blocks for several times as long.
          maxWorkers: 8,
          include: [`{src,test}/${DEEP}`],
          // A minute of computing takes many beside the other workers and what `.ci/run` has beside them.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
})
