import { domainName } from '../contract/check.ts'
import type { LimiterClient } from '../limiter-client/client.ts'
import { type AdminRoutes, text } from '../platform/admin-server.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Phase } from '../platform/process.ts'

type Sources = {
  readonly metrics: Metrics
  readonly limiter: LimiterClient
  readonly domain: string
  readonly phase: () => Phase
}

/** What the API's admin port serves. */
export const adminRoutes = ({ metrics, limiter, domain, phase }: Sources): AdminRoutes => {
  let isDomainKnown = false
  // Costs nothing, and is answered by the limiter only if it has policies for the domain.
  const question = { domain: domainName(domain), attributes: new Map([['client', 'ip:unknown']]), cost: 0 }
  return {
    '/livez': () => text(200, 'alive'),
    '/readyz': async () => {
      if (phase() !== 'serving') return text(503, phase())
      // Once known, an outage of the limiter takes no API out of service: that is what the fallback is for.
      isDomainKnown ||= (await limiter.shouldAllow(question)).source === 'limiter'
      return isDomainKnown ? text(200, 'ready') : text(503, `the limiter has not answered for the domain ${domain} yet`)
    },
    '/metrics': metrics.page,
  }
}
