export { ReeveClient, type ClientOptions, type RequestOptions } from './client.ts'
export { ReeveError, type ReeveErrorBody } from './error.ts'
export { JobsClient, type ListJobs, type NewJob, type SubmittedJob } from './jobs.ts'
export type { Job, JobDetail, JobHistoryEntry, JobPage, JobState } from './wire.ts'
