import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Dashboard, type DashboardPanel, readDashboards, substituted } from './expressions.fixture.ts'
import { drawDashboard, type NamedSeries, seriesName } from './picture.fixture.ts'
import type { Prometheus } from './prometheus.fixture.ts'
import { playFaults } from './traffic.fixture.ts'
import { openWatchedInstallation } from './watched-installation.fixture.ts'

/** Where to leave the pictures: `WEIR_PICTURES=deploy/grafana npm run test:e2e -- pictures` writes those of the README. */
const folder = process.env['WEIR_PICTURES']

const WATCHED_S = 90
const STEP_S = 2

const seriesOf = async (
  prometheus: Prometheus,
  { dashboard, panel }: { readonly dashboard: Dashboard; readonly panel: DashboardPanel },
  endS: number,
): Promise<readonly NamedSeries[]> => {
  const found = (panel.targets ?? []).map(async ({ expr, legendFormat }) => {
    const of = substituted(expr, dashboard, '15s')
    const series = await prometheus.queryRange(of, endS - WATCHED_S, endS, STEP_S)
    return series.map((one) => ({ name: seriesName(legendFormat, one), values: one.values }))
  })
  return (await Promise.all(found)).flat()
}

test('each panel of the dashboards is a picture of what a Prometheus saw: traffic, a store that stood still, a limiter that was gone', async () => {
  await using watched = await openWatchedInstallation()
  const { redis, installation, prometheus } = watched
  const startS = Date.now() / 1_000
  await playFaults(installation, redis)
  // A picture of a time: there is nothing to wait for but its end.
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, (startS + WATCHED_S) * 1_000 - Date.now())))
  const endS = Math.floor(Date.now() / 1_000)

  for (const dashboard of readDashboards()) {
    const data = await Promise.all(
      dashboard.panels.map(async (panel) => ({
        panel,
        series: await seriesOf(prometheus, { dashboard, panel }, endS),
      })),
    )
    const empty = data.filter(
      ({ panel, series }) =>
        panel.type !== 'row' && !series.some(({ values }) => values.some(([, value]) => Number.isFinite(value))),
    )
    expect(empty.map(({ panel }) => panel.title)).toEqual([])
    const picture = drawDashboard(dashboard, data, { startS: endS - WATCHED_S, endS })
    for (const { panel } of data) expect(picture).toContain(panel.title.replaceAll('&', '&amp;'))
    expect(picture).not.toContain('NaN')
    if (folder !== undefined) await writeFile(join(folder, `${dashboard.uid}.svg`), picture)
  }
}, 400_000)
