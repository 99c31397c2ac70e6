// A worker's key file: a JSON Web Key that only its owner can read.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { generateKey, parsePrivateKey, type PrivateKey } from '@reeve/sdk/pool'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'

const OWNER_ONLY = 0o600
const OTHERS = 0o077

export function writeKey(file: string): PrivateKey {
  const key = generateKey()
  try {
    writeFileSync(file, `${JSON.stringify(key)}\n`, { mode: OWNER_ONLY, flag: 'wx' })
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const why = exists
      ? 'it exists, and keys are not overwritten'
      : error instanceof Error
        ? error.message
        : 'it failed'
    throw new CommandFailed(`Cannot write ${plain(file)}: ${why}.`)
  }
  return key
}

export function readKey(file: string): PrivateKey {
  let text: string
  let mode: number
  try {
    mode = statSync(file).mode
    text = readFileSync(file, 'utf8')
  } catch {
    throw new CommandFailed(`Cannot read the key file ${plain(file)}. Create one with reeve worker keygen.`)
  }
  if ((mode & OTHERS) !== 0) {
    throw new CommandFailed(
      `Others can read the key file ${plain(file)}: chmod 600 ${plain(file)}, and consider a new key.`,
    )
  }
  try {
    return parsePrivateKey(JSON.parse(text))
  } catch {
    throw new CommandFailed(`${plain(file)} is not a key file of reeve worker keygen.`)
  }
}
