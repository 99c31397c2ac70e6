import { INSECURE_CALLBACKS } from '../../core/outbound/callback-url.ts'
import { integer, type Settings, type Values } from '../../core/settings.ts'

export const POOL_SETTINGS = {
  POOL_LEASE_SECONDS: integer({
    min: 1,
    max: 3600,
    or: 30,
    about: 'How long a worker may be silent before its assignment goes to another, and it counts as offline.',
  }),
  POOL_HOLD_SECONDS_MAX: integer({
    min: 1,
    max: 604_800,
    or: 3600,
    about: 'How long heartbeats can keep one assignment.',
  }),
  POOL_TIMEOUT_SECONDS: integer({
    min: 1,
    max: 31_536_000,
    or: 86_400,
    about: 'When a job is given up, unless it names a time of its own.',
  }),
  POOL_EXTRA_REPLICAS: integer({
    min: 0,
    max: 50,
    or: 4,
    about: 'Replicas beyond those asked for, one by one, while no quorum agrees.',
  }),
  POOL_CANARY_PERCENT: integer({
    min: 0,
    max: 100,
    or: 5,
    about: 'How many of the assignments of a trusted worker are canaries, if there are any.',
  }),
  POOL_PROBATION_CANARIES: integer({
    min: 0,
    max: 1000,
    or: 5,
    about: 'Canaries that a worker must pass before it is trusted. Until then half of its assignments are canaries.',
  }),
  POOL_BAN_AFTER: integer({
    min: 0,
    max: 1000,
    or: 1,
    about: 'Wrong answers to canaries that get a worker banned. 0: none do.',
  }),
  ALLOW_INSECURE_CALLBACKS: INSECURE_CALLBACKS,
} satisfies Settings

export type PoolSettings = Values<typeof POOL_SETTINGS>
