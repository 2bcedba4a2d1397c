import type { Surroundings } from './control.ts'
import type { LocalInstallation } from './local-installation.ts'

/** Faults on the processes that this run started. */
export const localSurroundings = ({ replicas }: LocalInstallation): Surroundings => ({
  pages: replicas.pages,
  makeFault: async (fault) => {
    const count = /^replicas-(\d+)$/.exec(fault)?.[1]
    if (count !== undefined) {
      await replicas.scaleTo(Number(count))
      return `${replicas.limiterPorts().length} limiters serve`
    }
    throw new Error(`nobody here knows how to make the fault ${fault}`)
  },
})
