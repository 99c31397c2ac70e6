import { ReeveError, type ReeveClient } from '@reeve/sdk'
import type { DOOR_NAMES } from '../../doors/outline.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'
import { noteAsked } from './asked.ts'

export function serverUrl(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url
  throw new CommandFailed(`${plain(url)} is not a URL: expected https://reeve.example.org.`, 2)
}

export type DoorName = (typeof DOOR_NAMES)[number]

/** The door whose routes a command asks, and the client that asks whether it is open. */
export interface AskedDoor {
  reeve: Pick<ReeveClient, 'account'>
  door: DoorName
}

/** A refusal is a sentence. */
export async function explained<T>(url: string, ask: () => Promise<T>, asked?: AskedDoor): Promise<T> {
  noteAsked(plain(url))
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ReeveError)) throw error
    if (error.status === 404 && asked !== undefined) await requireOpen(url, asked)
    throw new CommandFailed(plain(error.message))
  }
}

/** A server does not know the paths of a door that is not open. An answer to something else: it is taken to be open. */
export async function requireOpen(url: string, { reeve, door }: AskedDoor): Promise<void> {
  const isOpen = await reeve.account
    .about()
    .then(({ doors }) => doors.some(({ name, state }) => name === door && state === 'open'))
    .catch(() => true)
  if (!isOpen)
    throw new CommandFailed(`The ${door} door is not open on ${plain(url)}: see DOORS and the log of that server.`)
}
