// A signed request as `reeve verify` takes it: from one file, or from its parts.
import { readFileSync } from 'node:fs'
import { CommandFailed } from '../failure.ts'

export interface RequestOptions {
  method?: string
  path?: string
  header?: string
  body?: string
}

export interface RequestParts {
  method: string
  /** The request's target as it was sent. */
  target: string
  /** The value of the Authorization header. */
  header: string
  body: Buffer
}

/** From a file, with the options in place of what it says. */
export function readRequest(file: string | undefined, options: RequestOptions): RequestParts {
  const read = (name: string) => readFileSync(name === '-' ? 0 : name)
  const found = file === undefined ? null : parseRequest(read(file))
  const target = options.path ?? found?.target
  const header = options.header ?? found?.header
  if (target === undefined || header === undefined) {
    throw new CommandFailed('Give a file with the request, or --path and --header.', 2)
  }
  const body = options.body === undefined ? (found?.body ?? Buffer.alloc(0)) : read(options.body)
  const method = options.method ?? found?.method ?? 'POST'
  return { method, target, header: header.replace(/^authorization:\s*/i, ''), body }
}

/** Line ends as on the wire, or as an editor writes them. The body is what follows the empty line, byte for byte. */
function parseRequest(bytes: Buffer): RequestParts {
  const [, head, gap] = /^([\s\S]*?)(\r?\n\r?\n|$)/.exec(bytes.toString('latin1')) ?? []
  const [first = '', ...lines] = (head ?? '').split(/\r?\n/)
  const [, method, target] = /^([A-Za-z]+) (\S+)( HTTP\/[\d.]+)?$/.exec(first) ?? []
  const header = lines.map((line) => /^authorization:\s*(.*)$/i.exec(line)?.[1]).find((value) => value !== undefined)
  if (method === undefined || target === undefined || header === undefined) {
    throw new CommandFailed(
      'The file is not a request: expected POST /solve HTTP/1.1, headers with Authorization, …',
      2,
    )
  }
  const path = URL.canParse(target) ? new URL(target).pathname : target
  return { method, target: path, header, body: bytes.subarray((head?.length ?? 0) + (gap?.length ?? 0)) }
}
