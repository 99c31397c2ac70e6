// `reeve verify`: why does a signed request not verify? A signature does not say which line differs, but the usual mistakes
// are few: each is tried, and the one that makes the signature right is named.
import { readFileSync } from 'node:fs'
import { canonicalString, isSignedWith, parseAuthorization, type SignedParts } from '@reeve/sdk/challenge'
import type { Command } from 'commander'
import { environment, parseConfig } from '../core/config.ts'
import { doorSettings } from '../doors/doors.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, styled } from './terminal.ts'
import { addVerifyReceiptCommand } from './verify-receipt-command.ts'

interface VerifyOptions {
  method: string
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
    .option('--path <path>', 'the path as it was sent, for example /solve')
    .option('--header <authorization>', 'the value of the Authorization header')
    .option('--method <method>', 'the method', 'POST')
    .option('--body <file>', 'the body, byte for byte; - for standard input; default: empty')
    .option('--secret-file <file>', 'the secret; default: the one of the key id in the settings')
    .option('--canonical <file>', 'the canonical string of the other side, to be compared line by line')
    .action(verify)
  addVerifyReceiptCommand(command)
}

function verify({ path, header, ...options }: VerifyOptions): void {
  if (path === undefined || header === undefined) throw new CommandFailed('Name --path and --header.', 2)
  const auth = parseAuthorization(header.replace(/^authorization:\s*/i, ''))
  if (auth === null) throw new CommandFailed('The header is not RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=….', 2)
  const body = options.body === undefined ? Buffer.alloc(0) : readFileSync(options.body === '-' ? 0 : options.body)
  const parts = { method: options.method, path, ts: auth.ts, nonce: auth.nonce, body }
  print(canonicalString(parts))
  print()
  if (options.canonical !== undefined) compare(canonicalString(parts), readFileSync(options.canonical, 'utf8'))

  const secret = secretOf(auth.keyId, options.secretFile)
  if (isSignedWith(secret, auth.sig, parts)) return print(styled('green', 'The signature verifies.'))
  const mistake = mistakesOf(parts).find(([, changed]) => isSignedWith(secret, auth.sig, changed))
  throw new CommandFailed(
    mistake === undefined
      ? 'The signature does not verify, and none of the usual mistakes explains it: check the secret and the body’s bytes.'
      : `The signature does not verify. It would if ${mistake[0]}.`,
  )
}

const LINES = ['method', 'path', 'timestamp', 'nonce', 'SHA256(body)']

function compare(ours: string, theirs: string): void {
  const [mine, other] = [ours.split('\n'), theirs.replace(/\n$/, '').split('\n')]
  for (const [index, name] of LINES.entries()) {
    if (mine[index] === other[index]) continue
    print(styled('red', `line ${index + 1}, ${name}: expected "${mine[index]}", got "${plain(other[index] ?? '')}"`))
  }
  if (other.length > LINES.length) print(styled('red', `there are ${other.length} lines instead of ${LINES.length}`))
}

function mistakesOf(parts: SignedParts & { body: Buffer }): [sentence: string, parts: SignedParts][] {
  const text = parts.body.toString()
  const path = parts.path.replace(/\?.*/, '')
  return [
    ['line 2, the path, had no query', { ...parts, path }],
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

function secretOf(keyId: string, file: string | undefined): string {
  if (file !== undefined) return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  const { doors } = parseConfig(environment(), doorSettings())
  const shared = String(doors['SHARED_SECRET_KEY'])
  const secret = ['CHAL', 'SOLVER']
    .filter((side) => doors[`${side}_HMAC_KEY_ID`] === keyId)
    .map((side) => (shared === '' ? String(doors[`${side}_HMAC_SECRET`]) : shared))
    .find((text) => text !== '')
  if (secret === undefined) throw new CommandFailed(`No secret is set for the key ${plain(keyId)}: use --secret-file.`)
  return secret
}
