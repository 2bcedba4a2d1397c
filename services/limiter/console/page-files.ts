import { readFileSync } from 'node:fs'
import type { AdminPage, AdminRoutes } from '../../platform/admin-server.ts'

/** By path, relative to where the console is; no other file is served. */
const files = {
  '/': { name: 'index.html', contentType: 'text/html; charset=utf-8' },
  '/console/style.css': { name: 'style.css', contentType: 'text/css; charset=utf-8' },
  '/console/icon.svg': { name: 'icon.svg', contentType: 'image/svg+xml' },
  '/console/main.js': { name: 'main.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/rates.js': { name: 'rates.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/chart.js': { name: 'chart.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/elements.js': { name: 'elements.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/overview.js': { name: 'overview.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/rehearsal.js': { name: 'rehearsal.js', contentType: 'text/javascript; charset=utf-8' },
  '/console/bucket.js': { name: 'bucket.js', contentType: 'text/javascript; charset=utf-8' },
} as const

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const

/** The console's files, read once. */
export const pageRoutes = (): AdminRoutes =>
  Object.fromEntries(
    Object.entries(files).map(([path, { name, contentType }]) => {
      const body = readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8')
      const page: AdminPage = { status: 200, contentType, body, headers }
      return [path, () => page]
    }),
  )
