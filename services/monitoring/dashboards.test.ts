import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dashboards, fileOf } from '../../deploy/grafana/dashboards.ts'
import { readDashboards } from './expressions.fixture.ts'

test.each([...dashboards])('%s.json is what its source says (npm run dashboards)', (name, text) => {
  expect(readFileSync(fileOf(name), 'utf8')).toBe(text)
})

// What Grafana asks of a file beyond the schema, to which the builders of its own package hold it.
test.each(readDashboards())('$title stands in Grafana as it stands here', ({ uid, panels, templating }) => {
  expect(uid).toMatch(/^weir-[a-z]+$/)
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  for (const { type, gridPos, targets, ...panel } of panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
    if (type === 'row') continue
    expect(panel).toMatchObject({
      datasource: { type: 'prometheus', uid: '$datasource' },
      description: expect.any(String),
    })
    expect(targets?.length).toBeGreaterThan(0)
  }
  const names = templating.list.map(({ name }) => name)
  expect(names[0]).toBe('datasource')
  const used = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? []))
  for (const variable of used) expect([...names, '__rate_interval']).toContain(variable.slice(1))
})
