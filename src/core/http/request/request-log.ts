// The log of one request. Most requests write at most one line, and making a child logger costs more than that line: so it
// is made with the first line that is written.
import type { FastifyBaseLogger } from 'fastify'
import type { Bindings, Logger } from 'pino'

type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

export class RequestLog implements FastifyBaseLogger {
  readonly #parent: Logger
  #bindings: (() => Bindings) | null
  #made: Logger | null = null

  constructor(parent: Logger, bindings: () => Bindings) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  child(bindings: Bindings): Logger {
    return this.#child().child(bindings)
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line)
  }

  error(...line: unknown[]): void {
    this.#write('error', line)
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line)
  }

  info(...line: unknown[]): void {
    this.#write('info', line)
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line)
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line)
  }

  silent(): void {}

  #write(level: LogLevel, line: unknown[]): void {
    if (!this.#parent.isLevelEnabled(level)) return
    const child = this.#child()
    Reflect.apply(child[level], child, line)
  }

  #child(): Logger {
    if (this.#made === null) {
      this.#made = this.#parent.child(this.#bindings?.() ?? {})
      this.#bindings = null // a WebSocket keeps its log, and must not keep the request
    }
    return this.#made
  }
}
