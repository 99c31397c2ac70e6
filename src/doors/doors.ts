// Every door of this build, in the order in which they are shown. A door is a folder beside this file.
import type { Door } from '../core/door.ts'
import type { Config } from '../core/config.ts'
import { arenaDoor } from './arena/door.ts'
import { challengeDoor } from './challenge/door.ts'
import { deskDoor } from './desk/door.ts'
import { judgeDoor } from './judge/door.ts'
import { checkLanguages } from './judge/languages/check-languages.ts'
import { checkSandbox } from './judge/sandbox/check-sandbox.ts'
import { poolDoor } from './pool/door.ts'

export const DOORS: readonly Door[] = [judgeDoor, challengeDoor, poolDoor, deskDoor, arenaDoor]

/** What `reeve doctor` tries on behalf of doors: resolves to what was found, rejects with what to do. */
export const doorChecks: readonly {
  what: string
  check(config: Config, env: Readonly<Record<string, string | undefined>>): Promise<string>
}[] = [{ what: 'sandbox', check: checkSandbox }]

/** The same for what is of use where it is there, and no mistake where it is not. */
export const doorTools = checkLanguages
