import { integer, oneOf, text, type Settings } from '../../../core/settings.ts'

export const SANDBOX_SETTINGS = {
  SANDBOX: oneOf({
    values: ['agent', 'exec'],
    or: 'agent',
    about: 'agent: one helper process per slot. exec: one per run, slower, with the same guarantees.',
  }),
  SANDBOX_DEGRADED: oneOf({
    values: ['refuse', 'allow'],
    or: 'refuse',
    about: 'allow: run without cgroups where there are none. Limits are then per process, and every result says so.',
  }),
  SANDBOX_CGROUP: text({
    or: '',
    about:
      'The cgroup, below the root of the hierarchy, in which runs are counted. Empty: reeve, or without root the own one.',
  }),
  JUDGE_STDOUT_LIMIT_BYTES: integer({
    min: 4096,
    max: 67_108_864,
    or: 262_144,
    about: 'How much of what the sandbox helper says is kept; the rest is read and dropped.',
  }),
  JUDGE_STDERR_LIMIT_BYTES: integer({
    min: 4096,
    max: 67_108_864,
    or: 1_048_576,
    about: 'The same for its standard error.',
  }),
} satisfies Settings
