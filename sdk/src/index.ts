export { canonicalJson, canonicalText, NotCanonical } from './canonical-json.ts'
export {
  AccountClient,
  type About,
  type AccountLogin,
  type ApiKey,
  type Me,
  type NewApiKey,
  type Registration,
  type Role,
} from './account.ts'
export {
  AdminClient,
  type Account,
  type AccountPasswordLink,
  type AuditEntry,
  type AuditTrail,
  type ImportedAccount,
  type ListAccounts,
  type NewAccount,
  type ServerReadiness,
  type ServerSetting,
  type ServerStatus,
} from './admin.ts'
export { ExactNumber, parseExact } from './exact-json.ts'
export { ReadsAbandoned, ReeveClient, type ClientOptions, type RequestOptions } from './client.ts'
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
export { compareLines, explainSignature, type LineDifference, type SignatureReport } from './challenge/explain.ts'
export { parseRequest, type RequestParts } from './challenge/request-text.ts'
export { CANONICAL_LINES, type AuthFields } from './challenge/signed-text.ts'
export { LiveClient, type LiveMessage, type LiveOptions, type LiveState, type LiveWatch } from './live.ts'
export { itemTexts, itemTextsInTurns, memberTexts, memberTextsInTurns } from './member-texts.ts'
export {
  DeliveriesClient,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryStory,
  type ListDeliveries,
} from './deliveries.ts'
export {
  DeskClient,
  type DeskAuditEntry,
  type DeskCookie,
  type DeskDomain,
  type DeskEnded,
  type DeskField,
  type DeskFigures,
  type DeskForm,
  type DeskOperator,
  type DeskSolution,
  type DeskTask,
  type DeskTaskPage,
  type ListDeskTasks,
} from './desk/client.ts'
export type { TaskStatus } from './desk/desk.ts'
export { ReeveError, type ReeveErrorBody } from './error.ts'
export {
  JudgeClient,
  type JudgeEvent,
  type JudgeVerdict,
  picturePath,
  type NewSubmission,
  type Problem,
  type ProblemDetail,
  type Submission,
  type SubmissionGroup,
  type SubmissionLine,
  type SubmissionTest,
} from './judge.ts'
export {
  JobsClient,
  type BulkOptions,
  type BulkProgress,
  type JobFilter,
  type ListJobs,
  type NewJob,
  type SubmittedJob,
} from './jobs.ts'
export type { Job, JobContext, JobDetail, JobHistoryEntry, JobPage, JobProgress, JobState, RelatedJob } from './wire.ts'
export {
  PoolClient,
  type LivePoolWorker,
  type NewPoolJob,
  type NewPoolWorker,
  type PoolJob,
  type PoolAgreeRule,
  type PoolJobPage,
  type PoolJobStatus,
  type PoolReputation,
  type PoolResult,
  type PoolWhy,
  type PoolWorker,
  type PoolWorkerChange,
} from './pool/client.ts'
export { PoolAdminClient, type PoolCanary, type PoolStanding, type PoolStandingStory } from './pool/admin.ts'
export type { Receipt, ReceiptBody } from './pool/receipts.ts'
export type { PrivateKey } from './pool/signing.ts'
export { generateWebKey, verifyReceipt } from './pool/web.ts'
export type { OverviewPoint, OverviewSample } from './overview.ts'
