import { defineConfig } from 'vitest/config'

export default defineConfig({
  cacheDir: '../node_modules/.vite',
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // A process test waits on other processes more than it computes.
    maxWorkers: 4,
  },
})
