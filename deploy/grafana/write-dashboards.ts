// npm run dashboards: writes the dashboards as Grafana reads them, beside their sources.
import { writeFileSync } from 'node:fs'
import { dashboards, fileOf } from './dashboards.ts'

for (const [name, text] of dashboards) writeFileSync(fileOf(name), text)
