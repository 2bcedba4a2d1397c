import { overview } from './overview.ts'
import { policies } from './policies.ts'

export const fileOf = (name: string) => new URL(`${name}.json`, import.meta.url)

/** The text of each dashboard's file. */
export const dashboards: ReadonlyMap<string, string> = new Map(
  Object.entries({ 'weir-overview': overview, 'weir-policies': policies }).map(([name, dashboard]) => [
    name,
    `${JSON.stringify(dashboard.build(), null, 2)}\n`,
  ]),
)
