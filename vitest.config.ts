import { defineConfig } from 'vitest/config'

/**
 * `unit` lies beside the code and needs nothing but it. `system` lies in `test/`: it starts the built
 * service, chains and simulators as real processes, so it runs after `npm run build`.
 */
export default defineConfig({
  test: {
    restoreMocks: true,
    sequence: { shuffle: true },
    setupFiles: ['test/support/fixed-seed.ts'],
    // Unsaid it is one on a machine of two cores.
    maxWorkers: '100%',
    // Modules keep nothing that a test could leave behind, so they are loaded once a worker and not once a file,
    // which took a fifth of the time. The shuffled order shows where that stops being true.
    isolate: false,
    projects: [
      // Time limits are for what hangs: machines have been seen that take three times as long as others.
      {
        extends: true,
        test: {
          name: 'unit',
          // One project after the other: a worker that changes over to the other one is started and loaded anew.
          sequence: { groupOrder: 0 },
          include: ['src/**/*.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          sequence: { groupOrder: 1 },
          include: ['test/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
