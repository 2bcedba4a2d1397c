import type { Kubectl } from './cluster.ts'
import { release } from './installation.ts'

/** The pods whose Redis holds slots, as one of them knows it. */
export const primaryPods = async (kubectl: Kubectl): Promise<readonly string[]> => {
  const nodes = await kubectl.do('exec', `${release}-redis-0`, '--', 'redis-cli', 'cluster', 'nodes')
  const addresses = new Set(
    nodes.matchAll(/([\d.]+):6379\S* (?:myself,)?master - \S+ \S+ \S+ connected \d/g).map(([, address]) => address),
  )
  return (await kubectl.pods('redis')).filter(({ address }) => addresses.has(address)).map(({ name }) => name)
}
