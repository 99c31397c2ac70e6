// On a terminal a log line is for a person; anywhere else it stays JSON.
import { Writable } from 'node:stream'
import { plain, styled } from '../terminal.ts'

const STYLES = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red', fatal: 'red' } as const
const HIDDEN = new Set(['time', 'level', 'msg', 'pid', 'err'])

export const prettyLog = (): Writable =>
  new Writable({
    write(chunk: Buffer, _, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') process.stdout.write(`${formatted(line)}\n`)
      done()
    },
  })

function formatted(line: string): string {
  const entry: Record<string, unknown> = JSON.parse(line)
  const level = String(entry['level'])
  const style = Object.entries(STYLES).find(([name]) => name === level)?.[1] ?? 'gray'
  const details = Object.entries(entry)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const time = String(entry['time']).slice(11, 23)
  return `${styled('gray', time)} ${styled(style, level.padEnd(5))} ${plain(String(entry['msg'] ?? ''))} ${styled('gray', plain(details.join(' ')))}${errorOf(entry['err'])}`
}

function errorOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return ''
  return `\n${String(error.stack)}`
}
