import { integer, type Settings, type Values } from '../../core/settings.ts'

export const ARENA_SETTINGS = {
  MATCH_QUEUE_TIMEOUT_SECONDS: integer({
    min: 1,
    max: 3600,
    or: 10,
    about: 'Default time that a player waits for an opponent.',
  }),
  SESSION_TICK_INTERVAL_MS: integer({ min: 5, max: 10_000, or: 100, about: 'Milliseconds between two ticks.' }),
  SESSION_TICKS: integer({ min: 1, max: 6000, or: 50, about: 'Number of ticks in a match.' }),
  SESSION_LEASE_SECONDS: integer({
    min: 1,
    max: 60,
    or: 6,
    about: 'Lease of a running match: when a server dies, another takes its matches over after this time.',
  }),
  SESSION_RESUME_SECONDS: integer({
    min: 0,
    max: 3600,
    or: 30,
    about: 'A match that is taken over ends as void if its last snapshot is older than this.',
  }),
  SESSION_WATCHERS_MAX: integer({
    min: 0,
    max: 1000,
    or: 20,
    about: 'Spectators of one match per server.',
  }),
  MATCHES_KEPT_DAYS: integer({
    min: 0,
    max: 36_500,
    or: 0,
    about: 'How long matches are kept that moved no rating. 0: for ever.',
  }),
  REPLAYS_KEPT_DAYS: integer({
    min: 0,
    max: 36_500,
    or: 0,
    about: 'How long the inputs of matches are kept, which their replays show. 0: as long as the match.',
  }),
} satisfies Settings

export type ArenaSettings = Values<typeof ARENA_SETTINGS>
