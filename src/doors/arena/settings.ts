// The first two names are the contract's; the others are for what it leaves open.
import { integer, type Settings, type Values } from '../../core/settings.ts'

export const ARENA_SETTINGS = {
  MATCH_QUEUE_TIMEOUT_SECONDS: integer({
    min: 1,
    max: 3600,
    or: 10,
    about: 'How long a player waits for an opponent unless the request says otherwise.',
  }),
  SESSION_TICK_INTERVAL_MS: integer({ min: 5, max: 10_000, or: 100, about: 'Milliseconds between two ticks.' }),
  SESSION_TICKS: integer({ min: 1, max: 6000, or: 50, about: 'Ticks of a match.' }),
  SESSION_LEASE_SECONDS: integer({
    min: 1,
    max: 60,
    or: 6,
    about: 'How long after a server died its matches are taken over.',
  }),
  SESSION_RESUME_SECONDS: integer({
    min: 0,
    max: 3600,
    or: 30,
    about: 'A match whose last snapshot is older than this is void when it is taken over.',
  }),
  SESSION_WATCHERS_MAX: integer({
    min: 0,
    max: 1000,
    or: 20,
    about: 'Connections of one server that may watch one match.',
  }),
} satisfies Settings

export type ArenaSettings = Values<typeof ARENA_SETTINGS>
