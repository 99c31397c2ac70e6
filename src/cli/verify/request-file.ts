// A signed request as `reeve verify` takes it: from one file, or from its parts.
import { parseRequest, type RequestParts } from '@reeve/sdk'
import { CommandFailed } from '../failure.ts'
import { readInput } from '../read-input.ts'

export interface RequestOptions {
  method?: string
  path?: string
  header?: string
  body?: string
}

/** From a file, with the options in place of what it says. */
export function readRequest(file: string | undefined, options: RequestOptions): RequestParts {
  const read = (name: string) => readInput(name)
  const found = file === undefined ? null : parsed(read(file))
  const target = options.path ?? found?.target
  const header = options.header ?? found?.header
  if (target === undefined || header === undefined) {
    throw new CommandFailed('Give a file with the request, or --path and --header.', 2)
  }
  const body = options.body === undefined ? (found?.body ?? Buffer.alloc(0)) : read(options.body)
  const method = options.method ?? found?.method ?? 'POST'
  return { method, target, header: header.replace(/^authorization:\s*/i, ''), body }
}

function parsed(bytes: Buffer): RequestParts {
  const request = parseRequest(bytes)
  if (request !== null) return request
  throw new CommandFailed('The file is not a request: expected POST /solve HTTP/1.1, headers with Authorization, …', 2)
}
