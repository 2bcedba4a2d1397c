/** Preloaded into a process (`--import`): names on standard error each package of OpenTelemetry that it loads. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) => {
    // prom-client loads the bare API, which does nothing by itself.
    if (/^@opentelemetry\/(?!api$)/.test(specifier)) process.stderr.write(`loads ${specifier}\n`)
    return next(specifier, context)
  },
})
