import { defineConfig } from 'vitest/config'

/**
 * `unit` lies beside the code and needs nothing but it. `system` lies in `test/`: it starts the built
 * service, chains and simulators as real processes, so it runs after `npm run build`.
 */
export default defineConfig({
  test: {
    restoreMocks: true,
    sequence: { shuffle: true },
    // Unsaid it is one on a machine of two cores.
    maxWorkers: '100%',
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
