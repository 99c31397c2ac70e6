// Every door of this build, in the order in which they are shown. A door is a folder beside this file.
import type { Door } from '../core/door.ts'
import type { Settings } from '../core/settings.ts'
import { arenaDoor } from './arena/door.ts'
import { challengeDoor } from './challenge/door.ts'
import { deskDoor } from './desk/door.ts'
import { poolDoor } from './pool/door.ts'

export const DOORS: readonly Door[] = [challengeDoor, deskDoor, poolDoor, arenaDoor]

/** The settings of all doors, open or not: a closed door's setting is not a mistake. */
export const doorSettings = (): Settings => Object.assign({}, ...DOORS.map((door) => door.settings))
