import { readFileSync } from 'node:fs'
import { CommandFailed } from './failure.ts'
import { plain } from './terminal.ts'

/** A file, or standard input for -. */
export function readInput(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new CommandFailed(`Cannot read ${plain(file)}: ${reasonOf(error)}.`)
  }
}

/** For people. */
export const inputName = (file: string): string => (file === '-' ? 'Standard input' : plain(file))

export const readText = (file: string): string => readInput(file).toString('utf8')

export function readJson(file: string): unknown {
  const text = readText(file)
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed(`${inputName(file)} is not JSON.`, 2)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
}

/** For people, of an error of the file system. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (error instanceof Error ? plain(error.message) : 'it failed')
}
