/** A collector of traces, which decodes what it is sent (OTLP over HTTP, protobuf) and keeps it. */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader'

export type ReceivedSpan = {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: the first of its trace. */
  readonly parentId: string
  readonly name: string
  readonly kind: string
  readonly startUs: number
  readonly endUs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly error: string | undefined
  readonly tracestate: string
}

type Attribute = {
  readonly key: string
  readonly value?: Readonly<Record<string, unknown>> & { readonly value?: string }
}
type WireSpan = {
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId: Buffer
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly links: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[]
  readonly status?: { readonly code: number; readonly message: string }
  readonly traceState: string
}
type ExportRequest = {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}

const protocol = loadSync(fileURLToPath(new URL('otlp-traces.proto', import.meta.url)), {
  longs: String,
  defaults: true,
  arrays: true,
  oneofs: true,
})
const traces = protocol['otlp.Traces'] as ServiceDefinition
const decode = (body: Buffer) => traces['Export']?.requestDeserialize(body) as ExportRequest

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const ERROR = 2

const attributesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value?.[value.value ?? '']]))

const spansOf = ({ resourceSpans }: ExportRequest): readonly ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(attributesOf(resource?.attributes ?? [])['service.name']),
        traceId: span.traceId.toString('hex'),
        spanId: span.spanId.toString('hex'),
        parentId: span.parentSpanId.toString('hex'),
        name: span.name,
        kind: KINDS[span.kind] ?? '',
        startUs: Number(BigInt(span.startTimeUnixNano) / 1000n),
        endUs: Number(BigInt(span.endTimeUnixNano) / 1000n),
        attributes: attributesOf(span.attributes),
        links: span.links.map((link) => ({
          traceId: link.traceId.toString('hex'),
          spanId: link.spanId.toString('hex'),
        })),
        error: span.status?.code === ERROR ? span.status.message : undefined,
        tracestate: span.traceState,
      })),
    ),
  )

export const openOtlpReceiver = async () => {
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const faults: string[] = []
  let held = Promise.resolve()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    await held
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf') {
      faults.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
      response.writeHead(415).end()
      return
    }
    bodies.push(body)
    spans.push(...spansOf(decode(body)))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans: spans as readonly ReceivedSpan[],
    ofTrace: (traceId: string) => spans.filter((span) => span.traceId === traceId),
    /** Everything that was received, as it came. */
    raw: () => Buffer.concat(bodies).toString('latin1'),
    faults: faults as readonly string[],
    /** Answers nobody until the returned function is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
