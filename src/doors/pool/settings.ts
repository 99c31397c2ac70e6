import { INSECURE_CALLBACKS } from '../../core/outbound/callback-url.ts'
import { integer, type Settings, type Values } from '../../core/settings.ts'

export const POOL_SETTINGS = {
  POOL_LEASE_SECONDS: integer({
    min: 1,
    max: 3600,
    or: 30,
    about: 'Lease of an assignment. A worker that is silent for longer is offline, and its job goes to another.',
  }),
  POOL_LEASE_MAX_SECONDS: integer({
    min: 1,
    max: 86_400,
    or: 600,
    about: 'The longest lease that a worker can register for work without heartbeats.',
  }),
  POOL_HOLD_SECONDS_MAX: integer({
    min: 1,
    max: 604_800,
    or: 3600,
    about: 'The longest time for which heartbeats keep one assignment.',
  }),
  POOL_TIMEOUT_SECONDS: integer({
    min: 1,
    max: 31_536_000,
    or: 86_400,
    about: 'Time-out of a job that names none.',
  }),
  POOL_EXTRA_REPLICAS: integer({
    min: 0,
    max: 50,
    or: 4,
    about: 'Further replicas of a job, issued one by one while no quorum agrees.',
  }),
  POOL_CANARY_PERCENT: integer({
    min: 0,
    max: 100,
    or: 5,
    about: 'Share of a trusted worker’s assignments that are canaries, where there are canaries.',
  }),
  POOL_PROBATION_CANARIES: integer({
    min: 0,
    max: 1000,
    or: 5,
    about: 'Canaries that a worker must pass to be trusted. Before that, half of its assignments are canaries.',
  }),
  POOL_BAN_AFTER: integer({
    min: 0,
    max: 1000,
    or: 1,
    about: 'Wrong canary outputs after which a worker is banned. 0: never.',
  }),
  ALLOW_INSECURE_CALLBACKS: INSECURE_CALLBACKS,
} satisfies Settings

export type PoolSettings = Values<typeof POOL_SETTINGS>
