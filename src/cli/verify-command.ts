// `reeve verify`: why does a signed request not verify? A signature does not say which line differs, but the usual mistakes
// are few: each is tried, and the one that makes the signature right is named.
import { readFileSync } from 'node:fs'
import { canonicalString, isSignedWith, parseAuthorization, type SignedParts } from '@reeve/sdk/challenge'
import type { Command } from 'commander'
import { environment, parseConfig } from '../core/config.ts'
import { doorSettings } from '../doors/outline.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, styled } from './terminal.ts'
import { addVerifyReceiptCommand } from './verify-receipt-command.ts'

interface VerifyRequestOptions {
  method?: string
  path?: string
  header?: string
  body?: string
  secretFile?: string
  canonical?: string
}

export function addVerifyCommand(program: Command): void {
  const command = program
    .command('verify')
    .description('say whether a signed request verifies, and if not, which line of the canonical string differs')
    .argument(
      '[request]',
      'a file with the whole request (request line, headers, empty line, body); - for standard input',
    )
    .option('--method <method>', 'the method; default: POST')
    .option('--path <path>', 'the path as it was sent, for example /solve')
    .option('--header <authorization>', 'the value of the Authorization header')
    .option('--body <file>', 'the body, byte for byte; - for standard input; default: empty')
    .option('--secret-file <file>', 'the secret; default: those of the key id in the settings')
    .option('--canonical <file>', 'the canonical string of the other side, to be compared line by line')
    .action(verify)
  addVerifyReceiptCommand(command)
}

async function verify(file: string | undefined, options: VerifyRequestOptions): Promise<void> {
  const { method, path, header, body } = requestOf(file, options)
  const auth = parseAuthorization(header.replace(/^authorization:\s*/i, ''))
  if (auth === null) throw new CommandFailed('The header is not RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=….', 2)
  const parts = { method, path: path.replace(/\?.*/, ''), ts: auth.ts, nonce: auth.nonce, body }
  print(plainLines(canonicalString(parts)))
  print()
  if (options.canonical !== undefined) compare(canonicalString(parts), readFileSync(options.canonical, 'utf8'))

  const secrets = await secretsOf(auth.keyId, options.secretFile)
  const isRight = (parts: SignedParts) => secrets.some((secret) => isSignedWith(secret, auth.sig, parts))
  if (isRight(parts)) return print(styled('green', 'The signature verifies.'))
  const mistake = mistakesOf(parts, path).find(([, changed]) => isRight(changed))
  throw new CommandFailed(
    mistake === undefined
      ? 'The signature does not verify, and none of the usual mistakes explains it: check the secret and the body’s bytes.'
      : `The signature does not verify. It would if ${mistake[0]}.`,
  )
}

interface Request {
  method: string
  path: string
  header: string
  body: Buffer
}

/** From a file, with what is given beside it in its place. */
function requestOf(file: string | undefined, options: VerifyRequestOptions): Request {
  const read = (name: string) => readFileSync(name === '-' ? 0 : name)
  const found = file === undefined ? null : parseRequest(read(file))
  const path = options.path ?? found?.path
  const header = options.header ?? found?.header
  if (path === undefined || header === undefined) {
    throw new CommandFailed('Give a file with the request, or --path and --header.', 2)
  }
  const body = options.body === undefined ? (found?.body ?? Buffer.alloc(0)) : read(options.body)
  return { method: options.method ?? found?.method ?? 'POST', path, header, body }
}

/** Line ends as on the wire, or as an editor writes them. The body is what follows the empty line, byte for byte. */
function parseRequest(bytes: Buffer): Request {
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
  return { method, path, header, body: bytes.subarray((head?.length ?? 0) + (gap?.length ?? 0)) }
}

const plainLines = (text: string): string => text.split('\n').map(plain).join('\n')

const LINES = ['method', 'path', 'timestamp', 'nonce', 'SHA256(body)']

function compare(ours: string, theirs: string): void {
  const [mine, other] = [ours.split('\n'), theirs.replace(/\n$/, '').split('\n')]
  for (const [index, name] of LINES.entries()) {
    if (mine[index] === other[index]) continue
    print(styled('red', `line ${index + 1}, ${name}: expected "${mine[index]}", got "${plain(other[index] ?? '')}"`))
  }
  if (other.length > LINES.length) print(styled('red', `there are ${other.length} lines instead of ${LINES.length}`))
}

function mistakesOf(parts: SignedParts & { body: Buffer }, sentPath: string): [sentence: string, parts: SignedParts][] {
  const text = parts.body.toString()
  const { path } = parts
  return [
    ['line 2, the path, had its query, which is not signed', { ...parts, path: sentPath }],
    ['line 2, the path, ended in a slash', { ...parts, path: `${path}/` }],
    ['line 2, the path, did not end in a slash', { ...parts, path: path.replace(/\/+$/, '') }],
    ['line 2, the path, was unescaped', { ...parts, path: unescaped(path) }],
    ['line 2 was only /', { ...parts, path: '/' }],
    ['line 1, the method, was GET', { ...parts, method: 'GET' }],
    ['line 1, the method, was POST', { ...parts, method: 'POST' }],
    ['line 3, the timestamp, was in milliseconds', { ...parts, ts: parts.ts * 1000 }],
    ['line 5, the body, was empty', { ...parts, body: '' }],
    ['line 5, the body, had no line end', { ...parts, body: text.replace(/\r?\n$/, '') }],
    ['line 5, the body, ended in a line end', { ...parts, body: `${text}\n` }],
    ['line 5, the body, was written anew by a JSON library', { ...parts, body: rewritten(text) }],
  ]
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function rewritten(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** Several, while a key is rotated: also those whose time is over, since a request may be old. */
async function secretsOf(keyId: string, file: string | undefined): Promise<string[]> {
  if (file !== undefined) return [readFileSync(file, 'utf8').replace(/\r?\n$/, '')]
  const { doors } = parseConfig(environment(), doorSettings())
  const shared = String(doors['SHARED_SECRET_KEY'])
  const keys = ['CHAL', 'SOLVER'].flatMap((side) => {
    const extra: unknown = doors[`${side}_HMAC_EXTRA_KEYS`]
    const main = { keyId: doors[`${side}_HMAC_KEY_ID`], secret: shared || doors[`${side}_HMAC_SECRET`] }
    return [main, ...(Array.isArray(extra) ? extra.filter(isKey) : [])]
  })
  const secrets = keys.filter((key) => key.keyId === keyId && key.secret !== '').map(({ secret }) => String(secret))
  if (secrets.length > 0) return secrets
  throw new CommandFailed(`No secret is set for the key ${plain(keyId)}: use --secret-file.`)
}

const isKey = (value: unknown): value is { keyId: string; secret: string } =>
  typeof value === 'object' && value !== null && 'keyId' in value && 'secret' in value
