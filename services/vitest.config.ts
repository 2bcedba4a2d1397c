import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Where tests lie beside what they test. */
const FOLDERS = '{services,load-tests}'

/** Tests that need more than Node and what `npm test` installs; they run with `--mode e2e`, and nothing else then. */
const E2E = `${FOLDERS}/**/*.e2e.test.ts`

export default defineConfig(({ mode }) => ({
  cacheDir: '../node_modules/.vite',
  test: {
    root: join(import.meta.dirname, '..'),
    include: mode === 'e2e' ? [E2E] : [`${FOLDERS}/**/*.test.ts`],
    exclude: mode === 'e2e' ? [] : [E2E],
    // Deadlines for a machine on which other things run too.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // A process test waits on other processes more than it computes; those of `e2e` have the machine to themselves.
    maxWorkers: 3,
    fileParallelism: mode !== 'e2e',
  },
}))
