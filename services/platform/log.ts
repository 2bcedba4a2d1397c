import { type Logger, pino } from 'pino'
import { oneOf, type Reader, withDefault } from './settings.ts'

export type Log = Logger

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type Level = (typeof levels)[number]

export const logLevel: Reader<Level> = withDefault(oneOf(...levels), 'info')

/**
 * JSON lines on standard output; credentials that slip into a logged object are blotted out, and `scrub` sees every line
 * before it is written.
 */
export const createLog = (service: string, level: Level, scrub: (line: string) => string = (line) => line): Log =>
  pino({
    hooks: { streamWrite: scrub },
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        '*.headers.authorization',
        'headers.authorization',
        '*.headers.cookie',
        '*.password',
        'password',
      ],
      censor: '[redacted]',
    },
  })
