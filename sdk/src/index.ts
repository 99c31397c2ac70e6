export { canonicalJson, canonicalText, NotCanonical } from './canonical-json.ts'
export { ReeveClient, type ClientOptions, type RequestOptions } from './client.ts'
export {
  ChallengesClient,
  type Challenge,
  type ChallengeCallback,
  type ChallengeDelivery,
  type ChallengePage,
  type ChallengeResult,
  type ChallengeState,
  type ChallengeStory,
  type NewChallenge,
  type ValidationRule,
} from './challenges.ts'
export { itemTexts, memberTexts } from './member-texts.ts'
export { DeliveriesClient, type Delivery, type DeliveryAttempt, type ListDeliveries } from './deliveries.ts'
export { ReeveError, type ReeveErrorBody } from './error.ts'
export {
  JudgeClient,
  type JudgeEvent,
  type JudgeVerdict,
  type NewSubmission,
  type Problem,
  type ProblemDetail,
  type Submission,
  type SubmissionGroup,
  type SubmissionLine,
  type SubmissionTest,
} from './judge.ts'
export { JobsClient, type ListJobs, type NewJob, type SubmittedJob } from './jobs.ts'
export type { Job, JobDetail, JobHistoryEntry, JobPage, JobState } from './wire.ts'
export {
  PoolClient,
  type NewPoolJob,
  type NewPoolWorker,
  type PoolJob,
  type PoolAgreeRule,
  type PoolJobPage,
  type PoolJobStatus,
  type PoolResult,
  type PoolWhy,
  type PoolWorker,
  type PoolWorkerChange,
} from './pool/client.ts'
