import { expect, test } from 'vitest'
import { until } from '../platform/service.fixture.ts'
import { allExpressions } from './expressions.fixture.ts'
import { playFaults } from './traffic.fixture.ts'
import { openWatchedInstallation } from './watched-installation.fixture.ts'

const shownValue = (value: number | undefined) =>
  value === undefined ? 'NO DATA' : String(Number(value.toPrecision(4)))

test('every expression of dashboards, rules and runbook has data in a Prometheus that scrapes a running installation', async () => {
  await using watched = await openWatchedInstallation()
  const { redis, installation, prometheus } = watched
  await playFaults(installation, redis)

  const expressions = allExpressions()
  expect(expressions.length).toBeGreaterThan(70)
  const latest = async (expr: string) => (await prometheus.query(expr)).find(({ value }) => !Number.isNaN(value))?.value
  const withoutData = async () => {
    const values = await Promise.all(expressions.map(async ({ expr }) => ({ expr, value: await latest(expr) })))
    return values.filter(({ expr, value }) => value === undefined && !isAbsence(expr))
  }
  await until(async () => (await withoutData()).length === 0, 90_000).catch(() => {})
  for (const { where, expr } of expressions)
    process.stdout.write(`${shownValue(await latest(expr)).padStart(12)}  ${where}: ${expr}\n`)
  expect(await withoutData()).toEqual([])
  // An outage is no reason to call anybody for wrong counts.
  expect(await latest('sum(weir_conservation_violations_total)')).toBe(0)
}, 400_000)

/** That nothing is there has data exactly when it should not. */
const isAbsence = (expr: string) => expr.startsWith('absent(')
