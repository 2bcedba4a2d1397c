import { oneOf, optional, type Reader, type Settings } from './settings.ts'

const url: Reader<string> = {
  read: (text) =>
    /^https?:$/.test(URL.parse(text)?.protocol ?? '')
      ? { ok: true, value: text }
      : { ok: false, expected: 'a URL such as http://collector:4318' },
}

const ratio: Reader<number> = {
  read: (text) => {
    const value = Number(text)
    return value >= 0 && value <= 1 ? { ok: true, value } : { ok: false, expected: 'a number from 0 to 1' }
  },
}

/**
 * Those of OpenTelemetry's standard variables whose mistakes would go unnoticed; its SDK reads these itself, and all others
 * (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_BSP_*`, `OTEL_EXPORTER_OTLP_HEADERS`, …).
 */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(url),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(url),
  OTEL_EXPORTER_OTLP_PROTOCOL: optional(oneOf('http/protobuf', 'http/json', 'grpc')),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: optional(oneOf('http/protobuf', 'http/json', 'grpc')),
  OTEL_TRACES_SAMPLER: optional(
    oneOf(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
  ),
  OTEL_TRACES_SAMPLER_ARG: optional(ratio),
  OTEL_SDK_DISABLED: optional(oneOf('true', 'false')),
} as const

export type TracingSettings = Settings<typeof tracingSettings>
