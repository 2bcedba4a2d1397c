import { readFileSync } from 'node:fs'

const dockerfile = readFileSync(new URL('../../deploy/Dockerfile', import.meta.url), 'utf8')
const entrypoint = /^ENTRYPOINT \["node"(?:, )?(.*)\]$/m.exec(dockerfile)?.[1]
if (entrypoint === undefined) throw new Error('deploy/Dockerfile: ENTRYPOINT does not begin with node')

/** What Node is told in the image, so that figures hold there. */
export const imageFlags: readonly string[] = JSON.parse(`[${entrypoint}]`)
