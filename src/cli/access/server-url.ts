import { ReeveError } from '@reeve/sdk'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'
import { noteAsked } from './asked.ts'

export function serverUrl(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url
  throw new CommandFailed(`${plain(url)} is not a URL: expected https://reeve.example.org.`, 2)
}

/** A refusal is a sentence. */
export async function explained<T>(url: string, ask: () => Promise<T>): Promise<T> {
  noteAsked(plain(url))
  try {
    return await ask()
  } catch (error) {
    throw error instanceof ReeveError ? new CommandFailed(plain(error.message)) : error
  }
}
