import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

const folder = join(import.meta.dirname, 'migrations')

/** The files of `migrations`, in order; numbered from 1 without a gap. */
export const readMigrations = (): readonly Migration[] =>
  readdirSync(folder)
    .toSorted()
    .map((file, index) => {
      const groups = /^(?<number>\d{4})-(?<name>[a-z0-9-]+)\.sql$/.exec(file)?.groups
      const { number = '', name = '' } = groups ?? {}
      if (Number(number) !== index + 1)
        throw new Error(`migrations/${file}: expected a file that begins with ${index + 1}`)
      return { number: index + 1, name, sql: readFileSync(join(folder, file), 'utf8') }
    })
