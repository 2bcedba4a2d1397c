import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createGrpcTransport } from './grpc-transport.ts'
import { domainName } from '../contract/check.ts'
const t0 = performance.now()
const host = createServer((s) => { console.log((performance.now() - t0).toFixed(0)); s.destroy() })
await new Promise<void>((r) => host.listen(0, '127.0.0.1', r))
const t = createGrpcTransport({ address: `127.0.0.1:${(host.address() as any).port}` })
for (let i = 0; i < 120; i++) { const a = await t.ask({ domain: domainName('api'), attributes: new Map(), cost: 1 }, 50); if (i % 40 === 0) console.log(JSON.stringify(a)); await delay(100) }
await t[Symbol.asyncDispose](); host.close()
