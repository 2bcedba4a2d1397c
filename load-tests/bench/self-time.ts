/** What V8 writes of a profile, as far as it is read here. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
  }[]
  /** The node that each sample met, and µs since the sample before. */
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export type Share = { readonly name: string; readonly percent: number }

/** Where a process spent its time, calls not included, the most first; of the time that it was not idle. */
export const selfTime = (profile: CpuProfile, nameOf: (frame: CpuProfile['nodes'][number]['callFrame']) => string) => {
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => [id, callFrame.functionName === '(idle)' ? '' : nameOf(callFrame)]),
  )
  const times = new Map<string, number>()
  for (const [index, id] of profile.samples.entries()) {
    const name = names.get(id) ?? ''
    if (name !== '') times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0))
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0)
  return [...times]
    .map(([name, time]): Share => ({ name, percent: (time / total) * 100 }))
    .toSorted((a, b) => b.percent - a.percent)
}

/** Our rooms, libraries and Node's own modules; V8's words for what is none of these, as `(garbage collector)`. */
export const roomOf = ({ url, functionName }: CpuProfile['nodes'][number]['callFrame']) => {
  const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  if (library !== undefined) return library
  const room = /\/services\/(.+)\/[^/]+$/.exec(url)?.[1]
  return room ?? (url === '' ? functionName || '(anonymous)' : url.replace(/^file:.*\//, ''))
}
