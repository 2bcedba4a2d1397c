// Writes services/wire/gen from proto/ (npm run proto). A test fails when the two differ.
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const generator = fileURLToPath(
  new URL('../../node_modules/@grpc/proto-loader/build/bin/proto-loader-gen-types.js', import.meta.url),
)
const root = fileURLToPath(new URL('../..', import.meta.url))

export const generateTypes = async (outDir: string) => {
  await rm(outDir, { recursive: true, force: true })
  const options = [
    '--longs=Number',
    '--enums=String',
    '--arrays',
    '--grpcLib=@grpc/grpc-js',
    '--importFileExtension=.ts',
  ]
  const files = ['weir/v1/rate_limit.proto', 'weir/v1/admin.proto', 'envoy/service/ratelimit/v3/rls.proto']
  // Relative to the root, so that the files do not name the machine that they were generated on.
  const paths = ['--includeDirs=proto', `--outDir=${outDir}`]
  await promisify(execFile)(process.execPath, [generator, ...options, ...paths, ...files], { cwd: root })
}

if (import.meta.main) await generateTypes(fileURLToPath(new URL('gen', import.meta.url)))
