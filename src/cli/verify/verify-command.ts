// `reeve verify`: whether a signed request verifies, and if not, why. It says about the signature, the time window and the
// key's dates what the server would (docs/challenge.md, section 1). It cannot know whether the nonce was used.
import { CANONICAL_LINES, compareLines, explainSignature, type AuthFields } from '@reeve/sdk'
import type { Command } from 'commander'
import { systemClock } from '../../core/clock.ts'
import { environment, parseConfig } from '../../core/config.ts'
import { readSettings } from '../../core/settings.ts'
import { CHALLENGE_SETTINGS, type ChallengeSettings } from '../../doors/challenge/settings.ts'
import { openKeys, type HmacKey } from '../../doors/challenge/signing/keys.ts'
import { doorSettings } from '../../doors/outline.ts'
import { CommandFailed } from '../failure.ts'
import { readText } from '../read-input.ts'
import { plain, print, styled } from '../terminal.ts'
import { addVerifyReceiptCommand } from './verify-receipt-command.ts'
import { readRequest, type RequestOptions } from './request-file.ts'

interface VerifyRequestOptions extends RequestOptions {
  secretFile?: string
  canonical?: string
  at?: string
}

export function addVerifyCommand(program: Command): void {
  const command = program
    .command('verify')
    .description('verify a signed request; if it fails, show which line of the canonical string differs')
    .argument(
      '[request]',
      'a file with the whole request (request line, headers, empty line, body); - for standard input',
    )
    .option('--method <method>', 'default: POST')
    .option('--path <path>', 'the path as it was sent, for example /solve')
    .option('--header <authorization>', 'the value of the Authorization header')
    .option('--body <file>', 'the body, byte for byte; - for standard input; default: empty')
    .option(
      '--secret-file <file>',
      'a file with the secret; default: the secrets that the settings have for the key id',
    )
    .option('--canonical <file>', "a file with the other side's canonical string, to compare line by line")
    .option('--at <time>', 'check the time window and the key’s dates at this time (ISO 8601); default: now')
    .action(verify)
  addVerifyReceiptCommand(command)
}

async function verify(file: string | undefined, options: VerifyRequestOptions): Promise<void> {
  const request = readRequest(file, options)
  const sent = await explainSignature(request, { secrets: [] })
  if (sent === null) throw new CommandFailed('The header is not RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=….', 2)
  const { auth, lines } = sent
  print(lines.map(plain).join('\n'))
  print()
  if (options.canonical !== undefined) compare(lines, readText(options.canonical))

  const settings = readChallengeSettings()
  const keys = keysOf(settings, auth.keyId, options.secretFile)
  const report = await explainSignature(request, {
    secrets: keys.map(({ secret }) => secret),
    prefixes: prefixesOf(settings),
  })
  const signers = keys.filter((_, index) => report?.signers.includes(index) === true)
  if (signers.length === 0) {
    const mistake = report?.mistake ?? null
    throw new CommandFailed(
      mistake === null
        ? 'The signature does not verify, and none of the usual mistakes explains it: check the secret and the body’s bytes.'
        : `The signature does not verify. It would if ${mistake.sentence}.`,
    )
  }
  print(styled('green', 'The signature verifies.'))
  checkTimes(auth, signers, settings.CLOCK_SKEW_SECONDS, timeOf(options.at))
}

/** The window of `ts` and the dates of the keys, each in a sentence of its own. Throws if the server would refuse. */
function checkTimes({ ts }: AuthFields, signers: readonly HmacKey[], skewSec: number, at: Date): void {
  const offSec = Math.round(at.getTime() / 1000 - ts)
  const distance = `ts is ${Math.abs(offSec)} s ${offSec < 0 ? 'after' : 'before'} ${at.toISOString()}`
  if (Math.abs(at.getTime() / 1000 - ts) > skewSec) {
    throw new CommandFailed(`The timestamp is outside the window: ${distance}; at most ${skewSec} s are allowed.`)
  }
  print(styled('green', `The timestamp is within the window: ${distance}.`))

  const ends = signers.map(({ notAfterMs }) => notAfterMs ?? Infinity)
  const lastEnd = Math.max(...ends)
  if (lastEnd === Infinity) return
  const end = new Date(lastEnd).toISOString()
  if (lastEnd < at.getTime()) throw new CommandFailed(`The key is no longer accepted: it expired at ${end}.`)
  print(styled('green', `The key is accepted until ${end}.`))
}

function timeOf(text: string | undefined): Date {
  const at = text === undefined ? new Date(systemClock.now()) : new Date(text)
  if (Number.isNaN(at.getTime())) throw new CommandFailed('--at expects a time such as 2026-12-31T00:00:00Z.', 2)
  return at
}

function compare(lines: readonly string[], theirs: string): void {
  const differences = compareLines(lines, theirs)
  for (const { line, expected, got } of differences) {
    const name = CANONICAL_LINES[line - 1]
    if (name === undefined) continue
    print(styled('red', `line ${line}, ${name}: expected "${expected}", got "${plain(got)}"`))
  }
  const last = differences.at(-1)?.line ?? 0
  if (last > lines.length) print(styled('red', `there are ${last} lines instead of ${lines.length}`))
}

function readChallengeSettings(): ChallengeSettings {
  parseConfig(environment(), doorSettings()) // names every problem of the settings
  return readSettings(CHALLENGE_SETTINGS, environment(), [])
}

/** Also keys whose date has passed, since the request may be old. */
function keysOf(settings: ChallengeSettings, keyId: string, file: string | undefined): HmacKey[] {
  if (file !== undefined) return [{ keyId, secret: readText(file).replace(/\r?\n$/, ''), notAfterMs: null }]
  const { solver, challenger } = openKeys(settings)
  const keys = [...solver.find(keyId), ...challenger.find(keyId)]
  if (keys.length > 0) return keys
  throw new CommandFailed(`No secret is set for the key ${plain(keyId)}: use --secret-file.`)
}

/** The paths of the configured URLs: what a proxy in front of this server, or of the Solver, may strip. */
const prefixesOf = ({ SOLVER_URL: solver, PUBLIC_CALLBACK_HOST: callback }: ChallengeSettings): string[] =>
  [solver, callback]
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url).pathname.replace(/\/$/, ''))
    .filter((path) => path !== '')
