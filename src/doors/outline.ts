// What is known of the doors without loading them: their settings and their migrations. A command that opens none starts in a third
// of the time.
import type { AllSettings } from '../core/config.ts'
import type { MigrationFolder } from '../core/db/migrate.ts'
import type { Settings } from '../core/settings.ts'
import { ARENA_SETTINGS } from './arena/settings.ts'
import { CHALLENGE_SETTINGS } from './challenge/settings.ts'
import { DESK_SETTINGS } from './desk/settings.ts'
import { JUDGE_KIND, JUDGE_SETTINGS } from './judge/settings.ts'
import { POOL_SETTINGS } from './pool/settings.ts'

export const DOOR_NAMES = ['judge', 'challenge', 'pool', 'desk', 'arena'] as const

/** The settings of all doors, open or not: a closed door's setting is not a mistake. */
export const doorSettings = (): Settings => ({
  ...JUDGE_SETTINGS,
  ...CHALLENGE_SETTINGS,
  ...POOL_SETTINGS,
  ...DESK_SETTINGS,
  ...ARENA_SETTINGS,
})

/** Redis streams whose key is a setting, by kind. Every process that announces jobs needs them, whichever doors it opens. */
export const streamKeys = (settings: AllSettings): Readonly<Record<string, string>> => ({
  [JUDGE_KIND]: String(settings.doors['JOB_STREAM_KEY']),
})

export const migrationFolders = (): MigrationFolder[] => [
  { owner: 'core', folder: new URL('../core/migrations/', import.meta.url) },
  ...DOOR_NAMES.map((name) => ({ owner: name, folder: new URL(`${name}/migrations/`, import.meta.url) })),
]
