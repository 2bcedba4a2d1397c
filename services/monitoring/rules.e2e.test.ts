import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readRules, runbook } from './expressions.fixture.ts'

const folder = fileURLToPath(new URL('../../deploy/prometheus', import.meta.url))
const promtool = (...options: readonly string[]) => execFileSync('promtool', options, { cwd: folder, encoding: 'utf8' })

type AlertTest = { readonly alertname: string; readonly exp_alerts: readonly unknown[] }
const { tests } = parse(readFileSync(`${folder}/rules.test.yaml`, 'utf8')) as {
  tests: { alert_rule_test: AlertTest[] }[]
}
const alerts = readRules().flatMap(({ alert }) => alert ?? [])
const tested = (fires: boolean) =>
  tests
    .flatMap(({ alert_rule_test }) => alert_rule_test)
    .filter(({ exp_alerts }) => exp_alerts.length > 0 === fires)
    .map(({ alertname }) => alertname)

test('the rules are right, and every alert fires when it should and is silent in a healthy hour', () => {
  expect(promtool('check', 'rules', 'rules.yaml')).toContain('SUCCESS')
  expect(promtool('test', 'rules', 'rules.test.yaml')).toContain('SUCCESS')
  expect(tested(true).toSorted()).toEqual(alerts.toSorted())
  expect(tested(false).toSorted()).toEqual(alerts.toSorted())
}, 120_000)

test('the configuration of Docker Compose is right, and has the rules', () => {
  expect(promtool('check', 'config', 'prometheus.yaml')).toMatch(/rules.yaml[\s\S]*SUCCESS/)
})

test('every alert leads to its entry in the runbook, and the runbook has no other', () => {
  const entries = [...runbook.matchAll(/^### (Weir\w+)$/gm)].map(([, name]) => name)
  expect(entries.toSorted()).toEqual(alerts.toSorted())
  for (const { alert, annotations } of readRules())
    if (alert !== undefined) expect(annotations?.['runbook_url']).toBe(`deploy/RUNBOOK.md#${alert.toLowerCase()}`)
})
