// Loaded before a limiter (NODE_OPTIONS=--import), to compare with: its checks and its calls of the store are counted nowhere.
import { registerHooks } from 'node:module'

const silent: Readonly<Record<string, string>> = {
  'check-metrics.ts': `
    import { silentObserver } from '../core/observer.ts'
    const none = { decisions: [], inFlight: 0, durations: { boundsS: [], counts: [] } }
    export const publishChecks = () => ({ observer: silentObserver, read: () => none })`,
  'store-metrics.ts': 'export const publishStoreCalls = () => () => {}',
  'refusals.ts': 'export const observeRefusals = ({ observer }) => observer',
}

registerHooks({
  load: (url, context, next) => {
    const source = silent[/\/limiter\/telemetry\/([^/]+)$/.exec(url)?.[1] ?? '']
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})
