import { flag, integer, text, type Settings, type Values } from '../../core/settings.ts'
import { SANDBOX_SETTINGS } from './sandbox/settings.ts'

const GB = 1024 ** 3

export const JUDGE_KIND = 'judge'

export const JUDGE_SETTINGS = {
  JOB_STREAM_KEY: text({ or: 'deepoj:jobs', about: 'Redis stream of submissions at normal priority.' }),
  SUBMIT_RATE_LIMIT_MAX: integer({ min: 1, max: 1_000_000, or: 30, about: 'Submissions per account in that window.' }),
  SUBMIT_RATE_LIMIT_WINDOW: integer({
    min: 1,
    max: 86_400,
    or: 60,
    about: 'Seconds in which submissions are counted.',
  }),
  SUBMISSIONS_KEPT_DAYS: integer({
    min: 0,
    max: 36_500,
    or: 0,
    about: 'How long judged submissions and their jobs are kept. 0: for ever.',
  }),
  PROBLEM_PACKAGE_MAX_BYTES: integer({
    min: 1024,
    max: 2 * GB,
    or: GB / 4,
    about: 'The largest problem package that is taken.',
  }),
  PROBLEM_UNPACKED_MAX_BYTES: integer({
    min: 1024,
    max: 64 * GB,
    or: 2 * GB,
    about: 'The most that a problem package may unpack to.',
  }),
  JUDGE_SAMPLE_PROBLEMS: flag({ or: true, about: 'Install the sample problems where there is no problem at all.' }),
  JUDGE_SLOTS: integer({
    min: 0,
    max: 1024,
    or: 0,
    about: 'Submissions that this process judges at a time. 0: one per processor.',
  }),
  JUDGE_LANGUAGES_FILE: text({ or: '', about: 'A JSON file that changes, adds or (null) removes languages.' }),
  JUDGE_CACHE_DIR: text({
    or: '',
    about: 'Unpacked packages and compiled programs of this machine. Empty: judge/ in the data folder.',
  }),
  JUDGE_CACHE_MAX_BYTES: integer({
    min: 1024 ** 2,
    max: 1024 * GB,
    or: 10 * GB,
    about: 'Where the least used of them are thrown away.',
  }),
  ...SANDBOX_SETTINGS,
} satisfies Settings

export type JudgeSettings = Values<typeof JUDGE_SETTINGS>
