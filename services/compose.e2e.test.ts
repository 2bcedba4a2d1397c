import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

/** What Docker Compose reads its files by. */
const READER = 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2'
const file = fileURLToPath(new URL('../deploy/compose.yaml', import.meta.url))

test("Docker Compose's own reader takes deploy/compose.yaml", async () => {
  const { stdout } = await promisify(execFile)('go', ['run', READER, file], { cwd: tmpdir() })
  const { services } = parse(stdout) as { readonly services: Readonly<Record<string, unknown>> }
  expect(Object.keys(services)).toEqual(expect.arrayContaining(['limiter-1', 'limiter-2', 'api-1', 'api-2', 'ingress']))
}, 240_000)
