// The topic `submission` of /live: the events of one submission from its first one, for its owner and admins.
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { followChannel } from '../../../core/live/follow-channel.ts'
import { liveTopic, type LiveTopic } from '../../../core/live/topic.ts'
import { refused } from '../../../core/values/outcome.ts'
import { JUDGE_KIND } from '../settings.ts'
import { channelOf } from './progress.ts'

const Params = Type.Object({ job_id: Type.String({ maxLength: 100 }) }, { additionalProperties: false })

export const submissionTopic = ({ events, ledger }: Pick<Deps, 'events' | 'ledger'>): LiveTopic =>
  liveTopic({
    name: 'submission',
    roles: [],
    params: Params,
    async open(follow) {
      const { accountId, roles } = follow.account
      const jobId = parseJobId(follow.params.job_id)
      const job = jobId === null ? null : await ledger.get(jobId)
      const isTheirs = job?.accountId === accountId || roles.includes('ADMIN')
      if (job === null || job.kind !== JUDGE_KIND || !isTheirs) return refused('not_found')
      return followChannel(events, channelOf(job.jobId), { ...follow, since: follow.since ?? 0 })
    },
  })
